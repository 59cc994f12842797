"""Retention on PostgreSQL: whole months are dropped, and the rest of a month is deleted."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reconcile import day_ranges, rebuild
from app.ledger.retention import count_older, prune
from app.storage.sql import partitions as partitions_module
from app.storage.sql.engine import create_engine
from app.storage.sql.partitions import create_months, partitions
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from app.usage.messages.event import UsageEvent
from app.usage.messages.event_id import new_event_id
from tests.support.events import usage_event

JANUARY_S, FEBRUARY_S, MARCH_S = (
    int(datetime(2040, month, 1, tzinfo=UTC).timestamp()) for month in (1, 2, 3)
)
DAY_S = 86_400


@pytest.fixture
def ledger(postgres_url: str) -> Iterator[Ledger]:
    """A ledger with a request on each day of two months, and one at each month's edge."""
    ledger = Ledger(create_engine(postgres_url))
    create_months(ledger.engine, JANUARY_S)
    days = range(JANUARY_S, MARCH_S, DAY_S)
    edges = (FEBRUARY_S - 1, MARCH_S - 1, MARCH_S)
    ledger.post([at(it) for it in (*days, *edges)])
    yield ledger
    ledger.engine.dispose()


def at(time_s: int, id_time_s: int | None = None) -> UsageEvent:
    event_id = new_event_id((time_s if id_time_s is None else id_time_s) * 1000)
    return usage_event(event_id=event_id, started_at_ms=time_s * 1000)


def starts(engine: Engine) -> list[int]:
    with reading(engine) as connection:
        found = connection.scalars(sa.select(entries.c.started_at_ms).order_by("started_at_ms"))
        return [it // 1000 for it in found]


def months(engine: Engine) -> set[str]:
    with reading(engine) as connection:
        return {it.name for it in partitions(connection) if it.name.startswith("entries_2040")}


def test_whole_months_are_dropped_and_the_rest_is_deleted(ledger: Ledger) -> None:
    before_s = FEBRUARY_S + 3 * DAY_S + 5_000
    assert count_older(ledger.engine, before_s) == 32 + 3
    assert list(prune(ledger.engine, before_s, 2)) == [32, 2, 1]
    assert months(ledger.engine) == {"entries_2040_02", "entries_2040_03", "entries_2040_04"}
    assert starts(ledger.engine)[0] == FEBRUARY_S + 3 * DAY_S
    assert [it for days in day_ranges(ledger.engine) for it in rebuild(ledger.engine, days)] == []
    assert list(prune(ledger.engine, before_s, 2)) == []


def test_months_to_come_stay_although_they_are_empty(ledger: Ledger) -> None:
    assert sum(prune(ledger.engine, MARCH_S)) == 32 + 30
    assert months(ledger.engine) == {"entries_2040_03", "entries_2040_04"}


def test_a_month_with_a_request_of_a_later_time_is_not_dropped(ledger: Ledger) -> None:
    """Only another program makes such an id."""
    ledger.post([at(MARCH_S + 7, id_time_s=JANUARY_S)])
    assert list(prune(ledger.engine, FEBRUARY_S)) == [32]
    assert "entries_2040_01" in months(ledger.engine)
    assert starts(ledger.engine)[-1] == MARCH_S + 7


def test_a_late_event_of_a_dropped_month_counts_and_is_pruned_next_time(ledger: Ledger) -> None:
    assert sum(prune(ledger.engine, FEBRUARY_S)) == 32
    assert ledger.post([at(JANUARY_S + 5)]) == 1
    assert list(prune(ledger.engine, FEBRUARY_S)) == [1]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions_module, "WAIT_S", 1)
    monkeypatch.setattr(partitions_module, "ATTEMPTS", 2)


@pytest.mark.usefixtures("hasty")
def test_a_month_in_use_is_deleted_entry_by_entry(ledger: Ledger) -> None:
    with ledger.engine.connect() as reader, reader.begin():
        reader.execute(sa.text("SELECT count(*) FROM entries"))
        assert list(prune(ledger.engine, FEBRUARY_S, 20)) == [20, 12]
    assert "entries_2040_01" in months(ledger.engine)
    assert list(prune(ledger.engine, FEBRUARY_S)) == []
    assert "entries_2040_01" not in months(ledger.engine)


def test_a_month_that_another_prune_has_dropped_is_skipped(ledger: Ledger) -> None:
    steps = prune(ledger.engine, MARCH_S, 5)
    assert next(steps) == 32
    assert sum(prune(ledger.engine, MARCH_S)) == 30
    assert sum(steps) == 0
