"""Rebuilds of rollups while others write."""

import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, Literal

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine, event

from app.ledger.posting import Ledger
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import rollups
from app.usage.messages.event import UsageEvent
from tests.ledger.damage import SLOT_MS, agrees, change, damage, repair
from tests.ledger.ledgers import MIDNIGHT_MS
from tests.support.events import usage_event
from tests.support.services.polling import wait_until

When = Literal["before", "after"]


@contextmanager
def held(engine: Engine, when: When) -> Iterator[tuple[Event, Event]]:
    """Stop the next write of rollups through `engine` before or after it runs; yield two events.

    The first is set when the write has stopped; setting the second continues it.
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
    """Another process's engine on the same database."""
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


def until_it_waits(engine: Engine, work: "Future[Any]") -> None:
    """Wait until another transaction waits for a lock, or until the work has finished."""
    if engine.dialect.name != "postgresql":
        return  # SQLite has one writer; the second is somewhere before its BEGIN, or in it
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        wait_until(lambda: work.done() or connection.scalar(waiting))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_post_in_the_middle_of_a_rebuild_loses_nothing(
    engine: Engine, other: Engine, when: When
) -> None:
    """The post has written its entries, uncommitted, and none or only the first of its rollups."""
    old = [usage_event(account_id="acme", model=f"m{n % 3}") for n in range(30)]
    new = [usage_event(account_id="acme", model=f"m{n % 5}") for n in range(50)]
    Ledger(engine).post(old)
    damage(engine, random.Random(1))  # noqa: S311 - no secret
    with ThreadPoolExecutor(2) as pool, held(other, when) as (reached, go_on):
        post = pool.submit(Ledger(other).post, new)
        assert reached.wait(60)
        repairing = pool.submit(repair, engine)
        until_it_waits(engine, repairing)
        go_on.set()
        assert post.result() == 50
        assert repairing.result() != []
    assert agrees(engine, old + new)


@pytest.mark.parametrize("when", ["before", "after"])
def test_of_two_concurrent_rebuilds_the_second_finds_nothing_to_do(
    engine: Engine, other: Engine, when: When
) -> None:
    events = [usage_event(account_id="acme", model=f"m{n % 3}") for n in range(30)]
    Ledger(engine).post(events)
    change(engine, rollups.update().values(requests=99))
    with ThreadPoolExecutor(2) as pool, held(other, when) as (reached, go_on):
        first = pool.submit(repair, other)
        assert reached.wait(60)
        second = pool.submit(repair, engine)
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
            repair(engine, 20)  # once, so that what it loses stays lost
            assert sum(post.result() for post in posts) == 400
            posted += [it for batch in batches[start:][:10] for it in batch]
            assert agrees(engine, posted)
