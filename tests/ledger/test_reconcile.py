"""Rollups against entries: every difference is found, and mended while posts go on."""

import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from threading import Event
from typing import Any, Literal

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from app.ledger.posting import Ledger
from app.ledger.reconcile import (
    DayRange,
    Difference,
    count_entries,
    day_ranges,
    differences,
    rebuild,
)
from app.ledger.reports.query import UsageQuery, UsageReader
from app.storage.sql.database import create_engine, reading
from app.storage.sql.tables import DAY_S, ROLLUP_TABLES, SLOT_S, daily_rollups, rollups
from app.usage.event import NUMBER_LIMIT, UsageEvent
from tests.ledger.test_posting import EVENTS, MIDNIGHT_MS, as_posted, empty_ledger, ledger_of
from tests.support.events import usage_event
from tests.support.services.polling import wait_until

MIDNIGHT_S = MIDNIGHT_MS // 1000
SLOT_MS = SLOT_S * 1000


def change(engine: Engine, statement: sa.Executable) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(statement)


def found(engine: Engine, at_once: int = 50) -> list[Difference]:
    return [it for stretch in day_ranges(engine, at_once) for it in differences(engine, stretch)]


def mend(engine: Engine, at_once: int = 50) -> list[Difference]:
    return [it for stretch in day_ranges(engine, at_once) for it in rebuild(engine, stretch)]


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


def damage(engine: Engine, chance: random.Random) -> None:
    for table in ROLLUP_TABLES.values():
        damage_table(engine, table, chance)


def damage_table(engine: Engine, table: sa.Table, chance: random.Random) -> None:
    with reading(engine) as connection:
        keys = connection.execute(sa.select(*table.primary_key)).all()
    for key in keys:
        this = sa.and_(*(c == v for c, v in zip(table.primary_key, key, strict=True)))
        more = {"requests": table.c.requests + chance.randint(-3, 3), "total_tokens": 2**41}
        statements: list[Any] = [table.delete(), table.update().values(more), None]
        statement = chance.choice(statements)
        if statement is not None:
            change(engine, statement.where(this))


def agrees(engine: Engine, events: list[UsageEvent]) -> bool:
    kept, sums = ledger_of(engine)
    return (kept, [row for row in sums if row["requests"]]) == as_posted(events)


# While others write.

When = Literal["before", "after"]


@contextmanager
def held(engine: Engine, when: When) -> Iterator[tuple[Event, Event]]:
    """Hold whoever writes rollups through `engine`, before or after it does; yield two events.

    The first says that it is held, the second lets it go on.
    """
    reached, go_on = Event(), Event()

    def hold(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO rollups"):
            reached.set()
            assert go_on.wait(60)

    event.listen(engine, f"{when}_cursor_execute", hold)
    try:
        yield reached, go_on
    finally:
        go_on.set()
        event.remove(engine, f"{when}_cursor_execute", hold)


@pytest.fixture
def other(database_url: str) -> Iterator[Engine]:
    """Another process' engine on the same database."""
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


def until_it_waits(engine: Engine, work: "Future[Any]") -> None:
    """Wait until another transaction waits for a lock, or has no need to, or cannot be seen to."""
    if engine.dialect.name != "postgresql":
        return  # SQLite has one writer; the second is somewhere before its BEGIN, or in it
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        wait_until(lambda: work.done() or connection.scalar(waiting))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_post_in_the_middle_of_a_rebuild_loses_nothing(
    engine: Engine, other: Engine, when: When
) -> None:
    """The post has its entries in, not yet committed, and its rollups not at all or only just."""
    old = [usage_event(account_id="acme", model=f"m{n % 3}") for n in range(30)]
    new = [usage_event(account_id="acme", model=f"m{n % 5}") for n in range(50)]
    Ledger(engine).post(old)
    damage(engine, random.Random(1))  # noqa: S311 - no secret
    with ThreadPoolExecutor(2) as pool, held(other, when) as (reached, go_on):
        post = pool.submit(Ledger(other).post, new)
        assert reached.wait(60)
        mending = pool.submit(mend, engine)
        until_it_waits(engine, mending)
        go_on.set()
        assert post.result() == 50
        assert mending.result() != []
    assert agrees(engine, old + new)


@pytest.mark.parametrize("when", ["before", "after"])
def test_of_two_rebuilds_at_once_the_second_finds_nothing_to_do(
    engine: Engine, other: Engine, when: When
) -> None:
    events = [usage_event(account_id="acme", model=f"m{n % 3}") for n in range(30)]
    Ledger(engine).post(events)
    change(engine, rollups.update().values(requests=99))
    with ThreadPoolExecutor(2) as pool, held(other, when) as (reached, go_on):
        first = pool.submit(mend, other)
        assert reached.wait(60)
        second = pool.submit(mend, engine)
        until_it_waits(engine, second)
        go_on.set()
        assert len(first.result()) == 3
        assert second.result() == []
    assert agrees(engine, events)


def test_rebuilds_go_on_side_by_side_with_many_posts(engine: Engine, other: Engine) -> None:
    chance = random.Random(4)  # noqa: S311 - no secret
    batches = [
        [
            usage_event(
                account_id=f"a{n % 4}",
                model=f"m{n % 3}",
                started_at_ms=MIDNIGHT_MS + chance.randrange(4) * SLOT_MS,
            )
            for n in range(40)
        ]
        for _ in range(30)
    ]
    posted: list[UsageEvent] = []
    with ThreadPoolExecutor(3) as pool:
        for start in range(0, 30, 10):
            posts = [pool.submit(Ledger(other).post, batch) for batch in batches[start:][:10]]
            damage(engine, chance)
            mend(engine, 20)  # once, so that what it loses stays lost
            assert sum(post.result() for post in posts) == 400
            posted += [it for batch in batches[start:][:10] for it in batch]
            assert agrees(engine, posted)
