"""A real Celery worker, killed, and left without its services."""

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from redis import Redis
from sqlalchemy import Engine

from app.settings import Settings
from app.storage.redis.connection import connect
from app.storage.redis.keys import OPEN
from app.storage.sql.engine import create_engine
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import StreamUnavailable
from tests.support.events import open_record, usage_event
from tests.support.services.celery_worker import CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.tls import TLSProxy
from tests.support.services.valkey import Valkey
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


def publish(stream: EventStream, count: int) -> list[str]:
    """Publish events; return their ids."""
    events = [usage_event(account_id=f"acct_{number % 50}") for number in range(count)]
    for event in events:
        stream.publish(event)
    return [event.event_id for event in events]


def pause_while_it_posts(worker: CeleryWorker, redis: "Redis") -> list[str]:
    """Have the worker stand still with events in its hands; return the ids of what that took.

    However fast it is, or however slowly we look, it gets more to do until we catch it at it.
    """
    published: list[str] = []

    def is_paused_in_the_middle() -> bool:
        worker.pause()
        length, pending = waiting(redis)
        if pending:
            return True
        if not length:
            published.extend(publish(EventStream(redis), 2000))
        worker.resume()
        return False

    wait_until(is_paused_in_the_middle, every_s=0.001)
    return published


def test_each_of_20_000_events_is_posted_once_though_the_worker_is_killed_while_it_posts(
    worker: CeleryWorker, redis: "Redis", ledger_engine: Engine
) -> None:
    stream = EventStream(redis)
    published = publish(stream, EVENTS)

    def has_posted(count: int) -> bool:
        return entry_count(ledger_engine) >= count

    for count in (1, EVENTS // 4, EVENTS // 2):
        worker.start()
        wait_until(partial(has_posted, count), every_s=0.001)
        published += pause_while_it_posts(worker, redis)
        worker.kill()
    worker.start()

    wait_until(lambda: stream.backlog() == 0, deadline_s=120)
    assert event_ids(ledger_engine) == sorted(published)
    assert rolled_up(ledger_engine) == len(published)
    assert waiting(redis) == (0, 0)
    assert stream.dead_count() == 0


def test_a_worker_that_gets_sigterm_finishes_its_batch(
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


def test_two_workers_side_by_side_post_each_of_10_000_events_once(
    redis_url: str, redis: "Redis", postgres_url: str, tmp_path: Path
) -> None:
    env = {"REDIS_URL": redis_url, "DATABASE_URL": postgres_url}
    stream, engine = EventStream(redis), create_engine(postgres_url)
    workers = [CeleryWorker(tmp_path / f"worker{at}.log", env) for at in range(2)]
    try:
        for worker in workers:
            worker.start()
        published = publish(stream, 10_000)

        def both_have_posted() -> bool:
            published.extend(publish(stream, 10))
            return all("posted usage events" in worker.log() for worker in workers)

        wait_until(both_have_posted, every_s=0.1)
        wait_until(lambda: stream.backlog() == 0, deadline_s=120)
        assert event_ids(engine) == sorted(published)
        assert rolled_up(engine) == len(published)
        assert waiting(redis) == (0, 0)
    finally:
        engine.dispose()
        for worker in workers:
            worker.kill()


def test_a_database_that_hangs_holds_up_no_other_task(
    redis_url: str, redis: "Redis", postgres_url: str, tmp_path: Path
) -> None:
    for_ever = f"{postgres_url}&options=-c%20statement_timeout%3D0%20-c%20lock_timeout%3D0"
    worker = CeleryWorker(
        tmp_path / "worker.log", {"REDIS_URL": redis_url, "DATABASE_URL": for_ever}
    )
    stream, engine = EventStream(redis), create_engine(postgres_url)
    long_ago_ms = usage_event().started_at_ms - 3_600_000
    record = open_record(event_id="lost", owner="dead", started_at_ms=long_ago_ms)
    try:
        stream.claim_new("nobody", 1)  # which makes the consumer group
        with engine.begin() as connection:
            connection.execute(sa.text("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE"))
            stream.publish(usage_event())
            worker.start()
            wait_until(lambda: waiting(redis)[1] == 1)  # the consumer has claimed it, and hangs
            stream.publish(usage_event())  # for a second consumer to hang on
            OpenRecords(redis).reopen("lost", record.encode(), "", 0)
            wait_until(lambda: not redis.hlen(OPEN))
            assert waiting(redis)[1] == 1
        wait_until(lambda: entry_count(engine) == 3)
    finally:
        worker.kill()
        engine.dispose()


@pytest.fixture
def idle_worker(own_valkey: Valkey, sqlite_url: str, tmp_path: Path) -> Iterator[CeleryWorker]:
    """A started worker on that Valkey."""
    env = {"REDIS_URL": own_valkey.url, "DATABASE_URL": sqlite_url}
    worker = CeleryWorker(tmp_path / "worker.log", env)
    yield worker.start()
    worker.kill()
    logging.getLogger(__name__).info(worker.log())  # shown when the test fails


def test_an_idle_worker_posts_again_within_30_s_of_a_restart_of_redis(
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
        wait_until(lambda: entry_count(engine) == 2)  # 30 s, and slack
        wait_until(lambda: waiting(client) == (0, 0))
    engine.dispose()


def test_a_worker_continues_after_redis_is_killed_while_it_posts(
    own_valkey: Valkey, idle_worker: CeleryWorker, sqlite_url: str
) -> None:
    engine = create_engine(sqlite_url)
    with connect(own_valkey.url, timeout_s=10.0) as client:
        published = publish(EventStream(client), 10_000)
        published += pause_while_it_posts(idle_worker, client)
        own_valkey.kill()
        idle_worker.resume()
        own_valkey.start()
        wait_until(lambda: waiting(client) == (0, 0), deadline_s=120)
    assert event_ids(engine) == sorted(published)
    assert rolled_up(engine) == len(published)
    engine.dispose()


def test_a_redis_full_of_events_is_consumed_and_has_room_again(
    own_valkey: Valkey, idle_worker: CeleryWorker, sqlite_url: str
) -> None:
    engine = create_engine(sqlite_url)
    with connect(own_valkey.url, timeout_s=10.0) as client:
        stream = EventStream(client)
        stream.publish(usage_event())
        wait_until(lambda: entry_count(engine) == 1)
        idle_worker.pause()
        client.delete("celery:usage")
        client.xadd("usage:events", {"event": "poison"})
        for _ in range(3000):
            stream.publish(usage_event())
        used = client.info("memory")["used_memory"]
        client.config_set("maxmemory", used - 500_000)
        with pytest.raises(StreamUnavailable, match="OutOfMemoryError"):
            stream.publish(usage_event())
        idle_worker.resume()
        wait_until(lambda: waiting(client) == (0, 0))
        assert entry_count(engine) == 3001
        assert stream.dead_count() == 1
        stream.publish(usage_event())
        wait_until(lambda: entry_count(engine) == 3002)
    engine.dispose()


@pytest.mark.parametrize("trust", ["none", "its own certificate"])
def test_web_and_worker_reach_a_redis_behind_tls_with_a_password(
    tmp_path: Path, sqlite_url: str, trust: str
) -> None:
    valkey = Valkey(tmp_path, password="hard-to-guess").start()
    proxy = TLSProxy(tmp_path, valkey.port)
    address = f"rediss://{valkey.credentials}127.0.0.1:{proxy.port}/0"
    env = {"REDIS_URL": address, "DATABASE_URL": sqlite_url}
    if trust == "none":
        env["TOLLGATE_REDIS_CERT"] = "none"
    else:
        env["REDIS_URL"] += f"?ssl_ca_certs={proxy.certificate}"
    engine = create_engine(sqlite_url)
    worker = CeleryWorker(tmp_path / "worker.log", env)
    try:
        with (
            connect(address, timeout_s=10.0) as distrustful,
            pytest.raises(StreamUnavailable, match="ConnectionError"),
        ):
            EventStream(distrustful).backlog()
        worker.start()
        with connect(Settings.from_env(env).redis_url, timeout_s=10.0) as client:
            EventStream(client).publish(usage_event())
            wait_until(lambda: entry_count(engine) == 1)
            wait_until(lambda: waiting(client) == (0, 0))
        assert worker.stop() == 0
        assert "hard-to-guess" not in worker.log()
    finally:
        worker.kill()
        engine.dispose()
        proxy.stop()
        valkey.stop()
