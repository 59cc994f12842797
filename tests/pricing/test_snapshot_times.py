"""The prices of a snapshot: by day, by time of day, and by name."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.pricing.snapshot import Snapshot
from app.vocabulary.completion import Usage

RATES = {"input": "1", "output": "1"}
TOKENS = Usage(prompt_tokens=1_000_000, total_tokens=1_000_000)


def snapshot(*prices: Any, match: Any = None, **more: Any) -> Snapshot:
    row = {"id": "m", "match": match or {"equals": "m"}, "prices": list(prices), **more}
    return Snapshot("1", {"v": {"models": [row]}})


def dollars(found: Snapshot, *at: int, tier: str | None = None) -> float | None:
    history = found.find("v", "m", tier)
    assert history is not None
    price = history.at(int(datetime(*at, tzinfo=UTC).timestamp() * 1000))  # type: ignore[misc, arg-type]
    return None if price is None else price.cost_nanousd(TOKENS) / 1e9


@pytest.mark.parametrize(
    ("time", "paid"),
    [
        ((16, 30, 14), 1),
        ((16, 30, 15), 2),
        ((23, 59, 59), 2),
        ((0, 30, 9), 2),
        ((0, 30, 10), 1),
    ],
)
def test_a_price_of_some_hours_is_in_force_to_the_second(time: tuple[int, ...], paid: int) -> None:
    cheap = {"daily": ["16:30:15", "00:30:10"], "rates": {"input": "2", "output": "2"}}
    assert dollars(snapshot({"rates": RATES}, cheap), 2026, 9, 1, *time) == paid


def test_a_price_begins_on_its_day() -> None:
    found = snapshot({"rates": RATES}, {"from": "2026-09-02", "rates": RATES | {"input": "3"}})
    assert dollars(found, 2026, 9, 1, 23, 59, 59) == 1
    assert dollars(found, 2026, 9, 2) == 3


def test_a_tier_has_prices_of_its_own_and_none_before_they_begin() -> None:
    tiers = {"flex": [{"from": "2026-09-02", "rates": RATES | {"input": "0.5"}}]}
    found = snapshot({"rates": RATES}, tiers=tiers)
    assert dollars(found, 2026, 9, 2, tier="flex") == 0.5
    assert dollars(found, 2026, 9, 1, tier="flex") is None
    assert dollars(found, 2026, 9, 2, tier="unheard-of") is None
    assert dollars(found, 2026, 9, 2) == 1


@pytest.mark.parametrize(
    ("clause", "names", "others"),
    [
        ({"equals": "M-1"}, ["m-1", "M-1"], ["m-10"]),
        ({"starts_with": "m-"}, ["m-1"], ["am-1"]),
        ({"ends_with": "-1"}, ["m-1"], ["m-10"]),
        ({"contains": "-1"}, ["m-1", "m-10"], ["m"]),
        ({"regex": "^m-[0-9]$"}, ["m-1"], ["m-10"]),
        ({"or": [{"equals": "a"}, {"equals": "b"}]}, ["a", "b"], ["c"]),
        ({"and": [{"starts_with": "a"}, {"ends_with": "b"}]}, ["ab"], ["a", "b"]),
    ],
)
def test_a_clause_says_which_names_are_the_models(
    clause: Any, names: list[str], others: list[str]
) -> None:
    found = snapshot({"rates": RATES}, match=clause)
    assert [found.find("v", name) is not None for name in names] == [True] * len(names)
    assert [found.find("v", name) for name in others] == [None] * len(others)


def test_a_compact_date_is_one_with_dashes() -> None:
    found = snapshot({"rates": RATES}, match={"equals": "m-2026-01-02"})
    assert found.find("v", "m-20260102") is not None
    assert found.find("v", "m-20260103") is None


def test_a_provider_may_stand_in_for_another() -> None:
    row = {"id": "m", "match": {"equals": "m"}, "prices": [{"rates": RATES}]}
    found = Snapshot("1", {"v": {"fallbacks": ["w"]}, "w": {"models": [row]}})
    assert found.find("v", "m") is not None
    assert found.find("x", "m") is None
