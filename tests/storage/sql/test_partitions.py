"""Monthly partitions of entries on PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.storage.sql import partitions as partitions_module
from app.storage.sql.engine import create_engine
from app.storage.sql.partitions import (
    MONTHS_AHEAD,
    create_months,
    first_id,
    months_from,
    partitions,
)
from app.storage.sql.transactions import reading
from app.usage.messages.event import UsageEvent
from app.usage.messages.event_id import new_event_id
from app.vocabulary.errors import LedgerUnavailable
from tests.support.events import usage_event
from tests.support.services.polling import wait_until

#: A month long after the partitions that the migration creates.
JANUARY_S = datetime(2040, 1, 15, tzinfo=UTC).timestamp()
JANUARY, FEBRUARY, MARCH, APRIL = (f"entries_2040_{month:02}" for month in range(1, 5))


@pytest.fixture
def ledger(postgres_url: str) -> Iterator[Ledger]:
    engine = create_engine(postgres_url)
    yield Ledger(engine)
    engine.dispose()


def at(time_s: float) -> UsageEvent:
    """Return an event as a web process makes it: its id has the time of its start."""
    started_at_ms = int(time_s * 1000)
    return usage_event(event_id=new_event_id(started_at_ms), started_at_ms=started_at_ms)


def counts(engine: Engine) -> dict[str, int]:
    """Return the number of entries of each partition that has any."""
    statement = sa.text("SELECT tableoid::regclass::text, count(*) FROM entries GROUP BY 1")
    with reading(engine) as connection:
        return {name: count for name, count in connection.execute(statement)}


def test_months_follow_each_other_across_the_year() -> None:
    months = list(months_from(datetime(2040, 11, 30, 23, 59, tzinfo=UTC).timestamp(), 3))
    assert [it.name for it in months] == ["entries_2040_11", "entries_2040_12", "entries_2041_01"]
    assert [it.end for it in months[:-1]] == [it.start for it in months[1:]]


def test_ids_of_the_first_and_last_millisecond_belong_to_their_months() -> None:
    (month,) = months_from(JANUARY_S, 1)
    start_ms = int(datetime(2040, 1, 1, tzinfo=UTC).timestamp()) * 1000
    end_ms = int(datetime(2040, 2, 1, tzinfo=UTC).timestamp()) * 1000
    assert (month.start, month.end) == (first_id(start_ms), first_id(end_ms))
    ids = [new_event_id(it) for it in (start_ms - 1, start_ms, end_ms - 1, end_ms)]
    assert [month.start <= it < month.end for it in ids] == [False, True, True, False]


def test_this_month_and_the_next_ones_get_partitions_once(ledger: Ledger) -> None:
    names = create_months(ledger.engine, JANUARY_S)
    assert names == [JANUARY, FEBRUARY, MARCH, APRIL]
    assert len(names) == MONTHS_AHEAD + 1
    assert create_months(ledger.engine, JANUARY_S) == []
    assert create_months(ledger.engine, JANUARY_S + 31 * 86_400) == ["entries_2040_05"]
    ledger.post([at(JANUARY_S), at(JANUARY_S + 31 * 86_400)])
    assert counts(ledger.engine) == {JANUARY: 1, FEBRUARY: 1}


def test_sqlite_has_no_partitions(sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    assert create_months(engine, JANUARY_S) == []
    engine.dispose()


def test_a_missing_month_makes_no_post_fail_and_is_created_later(ledger: Ledger) -> None:
    event = at(JANUARY_S)
    assert ledger.post([event, at(JANUARY_S + 300), usage_event(event_id="no UUID")]) == 3
    assert counts(ledger.engine) == {"entries_default": 3}
    assert create_months(ledger.engine, JANUARY_S)[0] == JANUARY
    assert counts(ledger.engine) == {"entries_default": 1, JANUARY: 2}
    assert ledger.post([event]) == 0


def test_a_month_with_many_entries_in_the_default_partition_stays_there(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(partitions_module, "MOVED_LIMIT", 1)
    ledger.post([at(JANUARY_S), at(JANUARY_S + 1)])
    assert create_months(ledger.engine, JANUARY_S) == [FEBRUARY, MARCH, APRIL]
    assert "entries_2040_01 is not created" in caplog.text
    assert ledger.post([at(JANUARY_S + 2)]) == 1
    assert counts(ledger.engine) == {"entries_default": 3}


def test_a_ledger_without_any_month_gets_them_again(ledger: Ledger) -> None:
    with ledger.engine.begin() as connection:
        for it in partitions(connection):
            connection.execute(sa.text(f"DROP TABLE {it.name}"))
    assert ledger.post([at(JANUARY_S)]) == 1
    assert create_months(ledger.engine, JANUARY_S)[0] == JANUARY
    assert counts(ledger.engine) == {JANUARY: 1}


def test_a_post_that_waits_while_its_month_is_created_succeeds(ledger: Ledger) -> None:
    """Its statement has chosen the default partition, which no longer takes the entry."""
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as pool, ledger.engine.begin() as connection:
        (month,) = months_from(JANUARY_S, 1)
        assert partitions_module._create(month, connection)
        posted = pool.submit(ledger.post, [at(JANUARY_S)])
        wait_until(lambda: connection.scalar(waiting))
        connection.commit()
        assert posted.result(60) == 1
    assert counts(ledger.engine) == {JANUARY: 1}


def test_a_table_in_use_delays_a_new_month_and_nothing_else(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions_module, "WAIT_S", 1)
    with ledger.engine.connect() as connection, connection.begin():
        connection.execute(sa.text("SELECT count(*) FROM entries"))
        with pytest.raises(LedgerUnavailable):
            create_months(ledger.engine, JANUARY_S)
        assert ledger.post([at(JANUARY_S)]) == 1
    assert create_months(ledger.engine, JANUARY_S)[0] == JANUARY
    with reading(ledger.engine) as connection:
        assert JANUARY in {it.name for it in partitions(connection)}
