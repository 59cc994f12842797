"""The snapshot: which model of which provider a name finds, and its prices by tier and time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.pricing.price import Price
from app.pricing.snapshot import Snapshot


def model(name: str, match: dict[str, Any], dollars: int = 1, **others: Any) -> dict[str, Any]:
    return {"id": name, "match": match, "prices": [{"rates": rates(dollars)}]} | others


def rates(dollars: int) -> dict[str, str]:
    return {"input": str(dollars), "output": "0"}


def snapshot(**providers: list[dict[str, Any]]) -> Snapshot:
    """Return a snapshot of providers, which fall back to the provider `base` if there is one."""
    fallbacks = ["base"] if "base" in providers else []
    return Snapshot(
        "test", {it: {"fallbacks": fallbacks, "models": providers[it]} for it in providers}
    )


def found(prices: Snapshot, name: str, provider: str = "p", tier: str | None = None) -> str | None:
    """Return the name of the price of a provider's model; None if the model is unknown."""
    history = prices.find(provider, name, tier)
    if history is None:
        return None
    price = history.at(0)
    return None if price is None else price.name


@pytest.mark.parametrize(
    ("match", "names", "others"),
    [
        ({"equals": "M-1"}, ["m-1", "M-1"], ["m-12", "xm-1"]),
        ({"starts_with": "m-"}, ["m-1", "M-"], ["xm-1", "m"]),
        ({"ends_with": "-x"}, ["m-x", "-X"], ["m-xy"]),
        ({"contains": "mini"}, ["a-mini-b", "MINI"], ["min"]),
        ({"regex": r"^m-\d+$"}, ["m-1", "M-12"], ["m-", "xm-1"]),
        ({"or": [{"equals": "a"}, {"equals": "b"}]}, ["a", "b"], ["c"]),
        ({"and": [{"starts_with": "a"}, {"ends_with": "b"}]}, ["ab", "a-b"], ["a", "b"]),
        ({"and": [{"contains": "a"}, {"or": [{"equals": "xa"}, {"equals": "b"}]}]}, ["xa"], ["b"]),
    ],
)
def test_a_clause_matches_names_without_regard_to_case(
    match: dict[str, Any], names: list[str], others: list[str]
) -> None:
    prices = snapshot(p=[model("m", match)])
    assert [found(prices, name) for name in names] == ["p/m"] * len(names)
    assert [found(prices, name) for name in others] == [None] * len(others)


def test_the_first_model_that_matches_is_found() -> None:
    rows = [model("first", {"starts_with": "m"}), model("second", {"equals": "m-1"})]
    assert found(snapshot(p=rows), "m-1") == "p/first"


def test_a_provider_falls_back_to_others_in_order() -> None:
    prices = snapshot(
        p=[model("own", {"equals": "a"})],
        base=[model("a", {"equals": "a"}), model("b", {"equals": "b"})],
    )
    assert [found(prices, name) for name in ("a", "b", "c")] == ["p/own", "base/b", None]
    assert found(prices, "a", provider="unknown") is None
    assert found(prices, "b", provider="base") == "base/b"


def test_a_date_without_dashes_finds_the_model_with_dashes() -> None:
    prices = snapshot(p=[model("m", {"equals": "m-2026-05-28"})])
    assert found(prices, "m-20260528") == "p/m"
    assert found(prices, "m-20260529") is None
    assert found(prices, "m-20261328") is None  # not a date
    exact = snapshot(p=[model("m", {"equals": "m-20260528"})])
    assert found(exact, "m-20260528") == "p/m"


def test_a_tier_has_its_own_price_from_its_first_day() -> None:
    tiers = {"flex": [{"from": "2026-05-28", "rates": rates(2)}]}
    prices = snapshot(p=[model("m", {"equals": "m"}, tiers=tiers)])
    history = prices.find("p", "m", "flex")
    assert history is not None
    midnight_ms = int(datetime(2026, 5, 28, tzinfo=UTC).timestamp() * 1000)
    assert history.at(midnight_ms - 1) is None
    assert found(prices, "m") == "p/m"
    assert input_rate(history.at(midnight_ms)) == 2 * 10**9
    unknown = prices.find("p", "m", "priority")
    assert unknown is not None
    assert unknown.at(midnight_ms) is None


def test_a_price_may_be_effective_at_certain_hours() -> None:
    daily = {"daily": ["16:30:00", "00:30:00"], "rates": rates(1)}
    prices = snapshot(p=[model("m", {"equals": "m"}, prices=[{"rates": rates(2)}, daily])])
    history = prices.find("p", "m")
    assert history is not None
    seconds = (0, 1799, 1800, 59_399, 59_400)
    found = [input_rate(history.at(second * 1000)) // 10**9 for second in seconds]
    assert found == [1, 1, 2, 2, 1]


def input_rate(price: Price | None) -> int:
    assert price is not None
    return price.tiers[0][1].input


def test_a_snapshot_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    rows = {"p": {"fallbacks": [], "models": [model("m", {"equals": "m"})]}}
    path.write_bytes(orjson.dumps({"version": "genai-prices 1", "providers": rows}))
    loaded = Snapshot.load(path)
    assert (loaded.version, found(loaded, "m")) == ("genai-prices 1", "p/m")


@pytest.mark.parametrize(
    ("clock", "dollars"),
    [((16, 30, 14), 2), ((16, 30, 15), 1), ((23, 59, 59), 1), ((0, 30, 9), 1), ((0, 30, 10), 2)],
)
def test_hours_begin_and_end_at_their_second(clock: tuple[int, int, int], dollars: int) -> None:
    daily = {"daily": ["16:30:15", "00:30:10"], "rates": rates(1)}
    prices = snapshot(p=[model("m", {"equals": "m"}, prices=[{"rates": rates(2)}, daily])])
    history = prices.find("p", "m")
    assert history is not None
    at_ms = int(datetime(2026, 9, 1, *clock, tzinfo=UTC).timestamp() * 1000)
    assert input_rate(history.at(at_ms)) == dollars * 10**9


def test_a_price_begins_on_its_first_day_in_utc() -> None:
    later = {"from": "2026-09-02", "rates": rates(3)}
    prices = snapshot(p=[model("m", {"equals": "m"}, prices=[{"rates": rates(1)}, later])])
    history = prices.find("p", "m")
    assert history is not None
    midnight_ms = int(datetime(2026, 9, 2, tzinfo=UTC).timestamp() * 1000)
    found = [input_rate(history.at(at_ms)) for at_ms in (midnight_ms - 1, midnight_ms)]
    assert found == [10**9, 3 * 10**9]
