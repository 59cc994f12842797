"""Rollups against entries: every difference is found, and mended while posts go on."""

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
)
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.storage.sql.tables import DAY_S, SLOT_S, daily_rollups, rollups
from app.usage.event import UsageEvent
from app.usage.message import NUMBER_LIMIT
from tests.ledger.damage import SLOT_MS, agrees, change, damage, found, mend
from tests.ledger.ledgers import EVENTS, MIDNIGHT_MS, as_posted, empty_ledger, ledger_of
from tests.support.events import usage_event

MIDNIGHT_S = MIDNIGHT_MS // 1000


def test_an_empty_ledger_has_no_stretch(engine: Engine) -> None:
    assert list(day_ranges(engine)) == []
    assert count_entries(engine) == 0


def test_what_was_posted_agrees(engine: Engine) -> None:
    events = [usage_event(account_id=f"a{n % 3}", prompt_tokens=2**40) for n in range(200)]
    Ledger(engine).post(events)
    assert count_entries(engine) == 200
    assert found(engine) == mend(engine) == []
    assert ledger_of(engine) == as_posted(events)


def test_stretches_leave_out_no_slot_of_any_account(engine: Engine) -> None:
    times = [0, 1, SLOT_MS, SLOT_MS + 1, SLOT_MS + 2, 9 * SLOT_MS, NUMBER_LIMIT]
    accounts = ["A", "a", "é", "\U0001f600"]
    Ledger(engine).post(
        usage_event(account_id=account, started_at_ms=ms) for account in accounts for ms in times
    )
    change(engine, rollups.insert().values(rollup_of("b", 5 * SLOT_S)))  # of no entry
    cut = list(day_ranges(engine, 2))
    assert [stretch.account_id for stretch in cut if stretch.start_s == 0] == [
        "A",
        "a",
        "b",
        "é",
        "\U0001f600",
    ]
    for before, after in pairwise(cut):
        assert after.start_s == (before.end_s if after.account_id == before.account_id else 0)
        assert after.start_s % SLOT_S == 0
    assert all(stretch.end_s * 1000 > NUMBER_LIMIT for stretch in cut if is_last(stretch, cut))
    assert sum(stretch.entry_count for stretch in cut) <= len(times) * len(accounts)
    (only,) = found(engine, 2)
    assert (only.account_id, only.slot_s) == ("b", 5 * SLOT_S)


def is_last(stretch: DayRange, cut: list[DayRange]) -> bool:
    return stretch == [other for other in cut if other.account_id == stretch.account_id][-1]


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
    assert found(engine) == mend(engine)
    assert found(engine) == []


def test_days_are_held_against_entries_as_quarters_of_an_hour_are(engine: Engine) -> None:
    Ledger(engine).post([usage_event(), usage_event()])
    change(engine, daily_rollups.update().values(requests=5))
    (only,) = found(engine)
    assert (only.width_s, only.slot_s % DAY_S, only.lacks) == (DAY_S, 0, {"requests": -3})
    assert mend(engine) == [only]
    assert found(engine) == []


def test_a_rollup_of_no_entry_is_no_usage_after_it_is_mended(engine: Engine) -> None:
    change(engine, rollups.insert().values(rollup_of("acme", MIDNIGHT_S, total_tokens=7)))
    query = UsageQuery(MIDNIGHT_S, MIDNIGHT_S + SLOT_S, group_by=("model",))
    assert len(UsageReader(engine).rows(query)) == 1
    mend(engine)
    assert UsageReader(engine).rows(query) == []
    assert found(engine) == []


@settings(max_examples=25, deadline=None)
@given(EVENTS, st.data())
def test_whatever_was_changed_rollups_are_remade_to_the_sums_of_entries(
    events: list[UsageEvent], data: st.DataObject
) -> None:
    with empty_ledger() as engine:
        Ledger(engine).post(events)
        damage(engine, data.draw(st.randoms(use_true_random=False)))
        wrong = found(engine, data.draw(st.integers(1, 20)))
        # Cut otherwise, they come in another order: of each stretch, the days are first.
        mended = mend(engine, data.draw(st.integers(1, 20)))
        assert sorted(mended, key=repr) == sorted(wrong, key=repr)
        assert agrees(engine, events)
        assert found(engine) == []


# While others write.
