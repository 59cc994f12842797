"""Rollups and entries: every difference is found and repaired."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reconcile import (
    DayRange,
    count_entries,
    day_ranges,
    differences,
    rebuild,
)
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.storage.sql.tables import (
    DAY_S,
    ENDPOINT_TABLES,
    ROLLUP_TABLES,
    SLOT_S,
    daily_rollups,
    rollups,
)
from app.usage.messages.event import UsageEvent
from app.usage.messages.message import NUMBER_LIMIT
from tests.ledger.damage import SLOT_MS, agrees, change, damage, found, repair
from tests.ledger.ledgers import EVENTS, MIDNIGHT_MS, as_posted, empty_ledger, ledger_of
from tests.support.events import usage_event

MIDNIGHT_S = MIDNIGHT_MS // 1000


def test_an_empty_ledger_has_no_day_range(engine: Engine) -> None:
    assert list(day_ranges(engine)) == []
    assert count_entries(engine) == 0


def test_what_was_posted_agrees(engine: Engine) -> None:
    events = [usage_event(account_id=f"a{n % 3}", prompt_tokens=2**40) for n in range(200)]
    Ledger(engine).post(events)
    assert count_entries(engine) == 200
    assert found(engine) == repair(engine) == []
    assert ledger_of(engine) == as_posted(events)


def test_day_ranges_cover_every_slot_of_every_account(engine: Engine) -> None:
    times = [0, 1, SLOT_MS, SLOT_MS + 1, SLOT_MS + 2, 9 * SLOT_MS, NUMBER_LIMIT]
    accounts = ["A", "a", "é", "\U0001f600"]
    Ledger(engine).post(
        usage_event(account_id=account, started_at_ms=ms) for account in accounts for ms in times
    )
    change(engine, rollups.insert().values(rollup_of("b", 5 * SLOT_S)))  # of no entry
    cut = list(day_ranges(engine, 2))
    assert [days.account_id for days in cut if days.start_s == 0] == [
        "A",
        "a",
        "b",
        "é",
        "\U0001f600",
    ]
    for before, after in pairwise(cut):
        assert after.start_s == (before.end_s if after.account_id == before.account_id else 0)
        assert after.start_s % SLOT_S == 0
    assert all(days.end_s * 1000 > NUMBER_LIMIT for days in cut if is_last(days, cut))
    assert sum(days.entry_count for days in cut) <= len(times) * len(accounts)
    (only,) = found(engine, 2)
    assert (only.account_id, only.slot_s) == ("b", 5 * SLOT_S)


def is_last(days: DayRange, cut: list[DayRange]) -> bool:
    return days == [other for other in cut if other.account_id == days.account_id][-1]


def rollup_of(account_id: str, slot_s: int, **measures: int) -> dict[str, Any]:
    names = [column.name for column in rollups.c]
    row: dict[str, Any] = dict.fromkeys(names, 0) | {"requests": 1} | measures
    key = {"account_id": account_id, "slot_s": slot_s, "api_key_id": "k"}
    return row | key | {"vendor": "v", "model": "m"}


def test_a_difference_says_what_the_rollup_lacks(engine: Engine) -> None:
    Ledger(engine).post([usage_event(model="short"), usage_event(model="long")])
    Ledger(engine).post([usage_event(model="lost"), usage_event(model="good")])
    by_model = rollups.c.model
    change(engine, rollups.update().where(by_model == "short").values(requests=0, total_tokens=1))
    change(engine, rollups.update().where(by_model == "long").values(prompt_tokens=13))
    change(engine, rollups.delete().where(by_model == "lost"))
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert [(it.model, it.lacks) for it in found(engine)] == [
        ("long", {"prompt_tokens": -10}),
        ("lost", {"requests": 1, **usage}),
        ("short", {"requests": 1, "total_tokens": 4}),
    ]
    assert found(engine) == repair(engine)
    assert found(engine) == []


def test_daily_rollups_are_compared_with_entries_too(engine: Engine) -> None:
    Ledger(engine).post([usage_event(), usage_event()])
    change(engine, daily_rollups.update().values(requests=5))
    (only,) = found(engine)
    assert (only.width_s, only.slot_s % DAY_S, only.lacks) == (DAY_S, 0, {"requests": -3})
    assert repair(engine) == [only]
    assert found(engine) == []


def test_rollups_by_endpoint_are_compared_with_entries_too(engine: Engine) -> None:
    Ledger(engine).post([usage_event(), usage_event(endpoint="chat.completions")])
    change(engine, ENDPOINT_TABLES[SLOT_S].update().values(total_tokens=4))
    (only,) = found(engine)
    assert (only.width_s, only.endpoint, only.lacks) == (
        SLOT_S,
        "chat.completions",
        {"total_tokens": 1},
    )
    assert repair(engine) == [only]
    assert found(engine) == []


def test_a_rollup_without_entries_is_empty_after_its_repair(engine: Engine) -> None:
    change(engine, rollups.insert().values(rollup_of("acme", MIDNIGHT_S, total_tokens=7)))
    query = UsageQuery(MIDNIGHT_S, MIDNIGHT_S + SLOT_S, group_by=("model",))
    assert len(UsageReader(engine).rows(query)) == 1
    repair(engine)
    assert UsageReader(engine).rows(query) == []
    assert found(engine) == []


@settings(max_examples=25, deadline=None)
@given(EVENTS, st.data())
def test_any_damage_to_rollups_is_found_and_repaired(
    events: list[UsageEvent], data: st.DataObject
) -> None:
    with empty_ledger() as engine:
        Ledger(engine).post(events)
        damage(engine, data.draw(st.randoms(use_true_random=False)))
        wrong = found(engine, data.draw(st.integers(1, 20)))
        # With other ranges, the order is different: within a range, the widest slots come first.
        repaired = repair(engine, data.draw(st.integers(1, 20)))
        assert sorted(repaired, key=repr) == sorted(wrong, key=repr)
        assert agrees(engine, events)
        assert found(engine) == []


def test_a_rollup_that_counts_failures_as_the_version_before_does_not_differ_unless_rebuilt(
    engine: Engine,
) -> None:
    Ledger(engine).post([usage_event(status=it) for it in ("failed", "truncated", "completed")])
    for table in ROLLUP_TABLES.values():
        change(engine, table.update().values(failed_requests=1))
    (days,) = day_ranges(engine)
    assert differences(engine, days, accepts_former=True) == []
    assert [it.lacks for it in rebuild(engine, days)] == [{"failed_requests": 1}] * 3
    for wrong in (0, 3):
        change(engine, rollups.update().values(failed_requests=wrong))
        (found,) = differences(engine, days, accepts_former=True)
        assert found.lacks == {"failed_requests": 2 - wrong}
