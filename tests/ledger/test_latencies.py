"""The table `latencies` after hours were computed: always what the entries say."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from app.ledger import histogram, latencies
from app.ledger.latencies import compute_hours, compute_latencies, recompute_latencies
from app.ledger.latency_hours import MarkedHour, marked_hours
from app.ledger.posting import Ledger
from app.ledger.retention import prune
from app.storage.sql.tables import DAY_S, HOUR_S, latency_hours
from app.storage.sql.tables import latencies as table
from app.vocabulary.errors import LedgerUnavailable
from tests.ledger.damage import change
from tests.ledger.ledgers import MIDNIGHT_S, at, rows

LATER_S = MIDNIGHT_S + 3 * DAY_S


def counted(engine: Engine, width_s: int) -> dict[Any, Any]:
    """Return requests and durations by slot and status."""
    found = [row for row in rows(engine, table) if row["width_s"] == width_s]
    return {
        (row["slot_s"] - MIDNIGHT_S, row["status"]): (
            row["requests"],
            [
                histogram.middle_ms(it)
                for it, _ in histogram.counts(histogram.decode(row["duration"]))
            ],
        )
        for row in found
    }


def test_each_hour_and_day_has_what_was_posted_of_it(engine: Engine) -> None:
    Ledger(engine).post([at(5, duration_ms=10), at(HOUR_S + 5, duration_ms=20)])
    Ledger(engine).post([at(DAY_S, duration_ms=30), at(7, status="failed", duration_ms=8)])
    assert compute_latencies(engine, LATER_S) == 3
    assert counted(engine, HOUR_S) == {
        (0, "completed"): (1, [10]),
        (0, "failed"): (1, []),
        (HOUR_S, "completed"): (1, [20]),
        (DAY_S, "completed"): (1, [30]),
    }
    assert counted(engine, DAY_S) == {
        (0, "completed"): (2, [10, 20]),
        (0, "failed"): (1, []),
        (DAY_S, "completed"): (1, [30]),
    }
    assert compute_latencies(engine, LATER_S) == 0


def test_a_late_post_and_a_true_event_change_what_was_computed(engine: Engine) -> None:
    guess = at(5, event_id="e1", status="abandoned", duration_ms=3)
    Ledger(engine).post([guess])
    compute_latencies(engine, LATER_S)
    assert counted(engine, DAY_S) == {(0, "abandoned"): (1, [])}
    Ledger(engine).post([at(5, event_id="e1", duration_ms=11), at(6, duration_ms=12)])
    assert compute_latencies(engine, LATER_S) == 1
    assert counted(engine, HOUR_S) == counted(engine, DAY_S) == {(0, "completed"): (2, [11, 12])}


def test_a_repeated_event_marks_nothing(engine: Engine) -> None:
    event = at(5)
    Ledger(engine).post([event])
    compute_latencies(engine, LATER_S)
    Ledger(engine).post([event])
    assert marked_hours(engine, 0, LATER_S) == []


def test_the_present_hour_and_one_that_ended_just_now_wait(engine: Engine) -> None:
    Ledger(engine).post([at(5)])
    just_after_s = MIDNIGHT_S + HOUR_S + latencies.SETTLED_S - 1
    assert compute_latencies(engine, just_after_s) == 0
    assert compute_latencies(engine, just_after_s + 1) == 1


def test_what_is_posted_while_an_hour_is_computed_is_computed_next(engine: Engine) -> None:
    Ledger(engine).post([at(5)])
    (hour,) = marked_hours(engine, 0, LATER_S)
    Ledger(engine).post([at(6)])
    compute_hours(engine, [hour])
    assert marked_hours(engine, 0, LATER_S) == [MarkedHour(MIDNIGHT_S, 2)]


def test_without_time_the_newest_hour_is_computed_and_the_rest_next_time(engine: Engine) -> None:
    Ledger(engine).post([at(n * HOUR_S) for n in range(3)])
    assert compute_latencies(engine, LATER_S, time_budget_s=0.0) == 1
    assert [it.hour_s - MIDNIGHT_S for it in marked_hours(engine, 0, LATER_S)] == [HOUR_S, 0]
    assert compute_latencies(engine, LATER_S) == 2


@contextmanager
def too_slow(engine: Engine, *hours_s: int) -> Iterator[None]:
    """Have the statements that read the entries of these hours run into their time limit."""
    starts_ms = {hour_s * 1000 for hour_s in hours_s}

    def fail(_c: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        found = values.values() if isinstance(values, dict) else values
        since_ms = min((it for it in found if isinstance(it, int)), default=0)
        if "FROM entries" in statement and since_ms in starts_ms:
            raise OperationalError(statement, {}, Exception("canceled"))

    sa.event.listen(engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        sa.event.remove(engine, "before_cursor_execute", fail)


def test_an_hour_that_takes_too_long_is_named_and_holds_up_no_other(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    Ledger(engine).post([at(n * HOUR_S) for n in range(3)])
    newest_s = MIDNIGHT_S + 2 * HOUR_S
    with too_slow(engine, newest_s):
        assert compute_latencies(engine, LATER_S) == 2
        assert "the hour from 2026-05-28T02:00:00+00:00" in caplog.text
        with pytest.raises(LedgerUnavailable):  # nothing else is left to do
            compute_latencies(engine, LATER_S)
    assert [it.hour_s for it in marked_hours(engine, 0, LATER_S)] == [newest_s]
    assert compute_latencies(engine, LATER_S) == 1


def test_a_ledger_that_is_down_is_not_asked_for_every_hour(engine: Engine) -> None:
    Ledger(engine).post([at(n * HOUR_S) for n in range(3)])
    hours_s = (MIDNIGHT_S + n * HOUR_S for n in range(1, 3))
    with too_slow(engine, *hours_s), pytest.raises(LedgerUnavailable):
        compute_latencies(engine, LATER_S)


def test_what_was_computed_stays_when_its_entries_are_pruned(engine: Engine) -> None:
    Ledger(engine).post([at(5)])
    compute_latencies(engine, LATER_S)
    list(prune(engine, LATER_S))
    Ledger(engine).post([at(6)])  # too late: its hour is no longer whole
    assert compute_latencies(engine, LATER_S) == 1
    assert counted(engine, DAY_S) == {(0, "completed"): (1, [90])}
    assert recompute_latencies(engine) == 0


def test_a_recomputation_adds_what_another_version_posted_without_a_mark(engine: Engine) -> None:
    Ledger(engine).post([at(5), at(HOUR_S)])
    change(engine, latency_hours.delete())
    assert compute_latencies(engine, LATER_S) == 0
    assert recompute_latencies(engine) == 2
    assert counted(engine, DAY_S) == {(0, "completed"): (2, [90])}
