"""A real Celery worker, killed, and left without its services."""

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import Engine

from app.database import create_engine
from app.usage.stream import EventStream, connect
from tests.services.celery_worker import CeleryWorker
from tests.services.polling import wait_until
from tests.services.valkey import Valkey
from tests.usage.events import usage_event
from tests.workers.contents import entry_count, event_ids, rolled_up, waiting

EVENTS = 20_000


@pytest.fixture
def worker(redis_url: str, database_url: str, tmp_path: Path) -> Iterator[CeleryWorker]:
    """A worker that has not been started, on both databases."""
    env = {"REDIS_URL": redis_url, "DATABASE_URL": database_url}
    worker = CeleryWorker(tmp_path / "worker.log", env)
    yield worker
    worker.kill()
    logging.getLogger(__name__).info(worker.log())  # shown when the test fails


def test_each_of_20_000_events_is_posted_once_though_the_worker_is_killed_while_it_drains(
    worker: CeleryWorker, redis: "Redis", ledger_engine: Engine
) -> None:
    stream = EventStream(redis)
    published = [usage_event(account_id=f"acct_{number % 50}") for number in range(EVENTS)]
    for event in published:
        stream.publish(event)

    def has_posted(count: int) -> bool:
        return entry_count(ledger_engine) >= count

    for count in (1, EVENTS // 4, EVENTS // 2):
        worker.start()
        wait_until(partial(has_posted, count), every_s=0.001)
        worker.pause()
        assert 1 <= entry_count(ledger_engine) < EVENTS, "the kill would come too late"
        worker.kill()
    worker.start()

    wait_until(lambda: stream.backlog() == 0, deadline_s=120)
    assert event_ids(ledger_engine) == sorted(event.event_id for event in published)
    assert rolled_up(ledger_engine) == EVENTS
    assert waiting(redis) == (0, 0)
    assert stream.dead_count() == 0


def test_a_worker_that_is_asked_to_leave_finishes_its_batch(
    worker: CeleryWorker, redis: "Redis", ledger_engine: Engine
) -> None:
    stream = EventStream(redis)
    worker.start()
    for _ in range(3000):
        stream.publish(usage_event())
    wait_until(lambda: entry_count(ledger_engine) > 0, every_s=0.001)
    assert worker.stop() == 0
    length, pending = waiting(redis)
    assert pending == 0
    assert entry_count(ledger_engine) + length == 3000


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey of the test's own, to restart."""
    server = Valkey(tmp_path).start()
    yield server
    server.kill()


@pytest.fixture
def idle_worker(own_valkey: Valkey, sqlite_url: str, tmp_path: Path) -> Iterator[CeleryWorker]:
    """A started worker on that Valkey."""
    env = {"REDIS_URL": own_valkey.url, "DATABASE_URL": sqlite_url}
    worker = CeleryWorker(tmp_path / "worker.log", env)
    yield worker.start()
    worker.kill()
    logging.getLogger(__name__).info(worker.log())  # shown when the test fails


def test_an_idle_worker_drains_again_within_30_s_of_a_restart_of_redis(
    own_valkey: Valkey, idle_worker: CeleryWorker, sqlite_url: str
) -> None:
    engine = create_engine(sqlite_url)
    with connect(own_valkey.url, timeout_s=10.0) as client:
        stream = EventStream(client)
        stream.publish(usage_event())
        wait_until(lambda: entry_count(engine) == 1)
        own_valkey.stop()
        wait_until(lambda: "Connection to broker lost" in idle_worker.log())
        own_valkey.start()
        stream.publish(usage_event())
        wait_until(lambda: entry_count(engine) == 2, deadline_s=30)
        wait_until(lambda: waiting(client) == (0, 0))
    engine.dispose()
