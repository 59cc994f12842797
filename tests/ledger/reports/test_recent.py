"""The newest entries one by one, on both databases."""

from typing import Any

import pytest
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.recent import Position, RecentReader
from app.usage.messages.event import UsageEvent
from tests.support.events import usage_event

START_S = 1_780_000_000
ALL = UsageQuery(start_s=START_S, end_s=START_S + 3600)


def post(engine: Engine, *events: UsageEvent) -> None:
    assert Ledger(engine).post(events) == len(events)


def at(second: int, event_id: str, **changes: object) -> UsageEvent:
    started_at_ms = (START_S + second) * 1000
    return usage_event(event_id=event_id, started_at_ms=started_at_ms, **changes)


def test_requests_come_newest_first_and_in_pages_that_neither_skip_nor_repeat(
    engine: Engine,
) -> None:
    """Three of them started in one millisecond, across the border of two pages."""
    post(engine, at(1, "a"), at(2, "b"), at(2, "c"), at(2, "d"), at(3, "e"))
    reader, after, pages = RecentReader(engine), None, []
    while page := reader.requests(ALL, 2, after=after):
        pages.append([request.event_id for request in page])
        after = page[-1].position
    assert pages == [["e", "d"], ["c", "b"], ["a"]]


def test_the_range_holds_its_start_and_not_its_end(engine: Engine) -> None:
    post(engine, at(-1, "before"), at(0, "first"), at(3599, "last"), at(3600, "after"))
    found = RecentReader(engine).requests(ALL, 10)
    assert [request.event_id for request in found] == ["last", "first"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"account_ids": frozenset({"acme"})}, ["b"]),
        ({"account_ids": frozenset()}, []),
        ({"vendors": frozenset({"anthropic"})}, ["c"]),
        ({"models": frozenset({"openai/m"})}, ["b", "a"]),
        ({"models": frozenset({"anthropic/m"})}, ["c"]),
    ],
)
def test_filters_are_those_of_the_sums(
    engine: Engine, query: dict[str, Any], found: list[str]
) -> None:
    post(engine, at(1, "a"), at(2, "b", account_id="acme"), at(3, "c", vendor="anthropic"))
    asked = UsageQuery(start_s=ALL.start_s, end_s=ALL.end_s, **query)
    requests = RecentReader(engine).requests(asked, 10)
    assert [request.event_id for request in requests] == found


def test_the_newest_of_several_accounts_come_in_one_order(engine: Engine) -> None:
    owners = ["acme", "beta", "gamma"]
    post(engine, *(at(i, f"{i:02}", account_id=owners[i % 3]) for i in range(12)))
    two = UsageQuery(start_s=ALL.start_s, end_s=ALL.end_s, account_ids=frozenset({"acme", "beta"}))
    reader = RecentReader(engine)
    page = reader.requests(two, 3)
    assert [request.event_id for request in page] == ["10", "09", "07"]
    page = reader.requests(two, 3, after=page[-1].position)
    assert [request.event_id for request in page] == ["06", "04", "03"]


def test_requests_are_found_by_how_they_ended(engine: Engine) -> None:
    post(engine, at(1, "a", status="failed"), at(2, "b"), at(3, "c", status="truncated"))
    statuses = frozenset({"failed", "truncated"})
    found = RecentReader(engine).requests(ALL, 10, statuses=statuses)
    assert [request.status for request in found] == ["truncated", "failed"]


def test_a_position_between_entries_is_valid(engine: Engine) -> None:
    post(engine, at(1, "a"), at(2, "b"))
    after = Position((START_S + 1) * 1000 + 500, "zzz")
    assert [r.event_id for r in RecentReader(engine).requests(ALL, 10, after=after)] == ["a"]


@pytest.mark.parametrize(
    ("source", "prompt", "completion", "guessed"),
    [
        ("vendor", "vendor", "vendor", (False, False)),
        ("estimated", "vendor", "estimated", (False, True)),
        ("estimated", "estimated", "vendor", (True, False)),
        ("estimated", "estimated", "estimated", (True, True)),
        ("none", "none", "none", (False, False)),
    ],
)
def test_each_side_says_whose_count_it_is(
    engine: Engine, source: str, prompt: str, completion: str, guessed: tuple[bool, bool]
) -> None:
    post(engine, at(1, "a", source=source, prompt_source=prompt, completion_source=completion))
    (found,) = RecentReader(engine).requests(ALL, 1)
    assert (found.guessed_prompt, found.guessed_completion) == guessed
