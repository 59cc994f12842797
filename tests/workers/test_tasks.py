"""The tasks, run in this process."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

import pytest
import sqlalchemy as sa

from app.ledger.posting import Ledger
from app.storage.sql.partitions import partitions
from app.usage.redis.stream import EventStream
from tests.support.events import usage_event
from tests.support.processes import started
from tests.workers.contents import event_ids

#: Another task process, which drains until it is killed.
LOCKER = """
import fcntl, sys, time
fcntl.lockf(int(sys.argv[1]), fcntl.LOCK_EX)
print("locked")
time.sleep(600)
"""


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch, redis_url: str, sqlite_url: str) -> Iterator[ModuleType]:
    """The module `workers.tasks`, set to this test's Redis and ledger."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    import workers.tasks
    from app.settings import Settings

    settings = Settings(redis_url=redis_url, database_url=sqlite_url)
    monkeypatch.setattr(workers.tasks, "settings", settings)
    yield workers.tasks
    workers.tasks._stream.cache_clear()
    workers.tasks._ledger().engine.dispose()
    workers.tasks._ledger.cache_clear()
    workers.tasks._progress.cache_clear()


def test_the_post_task_posts_what_waits(
    tasks: ModuleType, stream: EventStream, sqlite_ledger: Ledger
) -> None:
    event = usage_event()
    stream.publish(event)
    tasks.post_events()
    assert event_ids(sqlite_ledger.engine) == [event.event_id]
    assert stream.backlog() == 0


def test_one_process_of_a_worker_posts_and_the_others_skip_the_task(
    tasks: ModuleType, stream: EventStream
) -> None:
    stream.publish(usage_event())
    with started(
        [sys.executable, "-uc", LOCKER, str(tasks._posting)],
        stdout=subprocess.PIPE,
        pass_fds=[tasks._posting],
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        tasks.post_events()
        assert stream.backlog() == 1
        other.kill()
    tasks.post_events()
    assert stream.backlog() == 0


def test_the_hourly_task_keeps_consumers_that_were_just_here(
    tasks: ModuleType, stream: EventStream
) -> None:
    stream.claim_new("recent", 1)
    tasks.forget_idle_consumers()
    assert stream.forget_idle_consumers(idle_ms=0) == 1


def test_a_task_creates_the_coming_months(
    tasks: ModuleType, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    monkeypatch.setattr(tasks, "settings", replace(tasks.settings, database_url=postgres_url))
    engine = tasks._ledger().engine
    with engine.begin() as connection:
        newest = max(partitions(connection), key=lambda it: it.end)
        connection.execute(sa.text(f"DROP TABLE {newest.name}"))
    tasks.create_partitions()
    with engine.begin() as connection:
        assert newest in partitions(connection)


@pytest.mark.parametrize("name", ["post_events", "forget_idle_consumers"])
def test_a_redis_that_is_away_is_one_line_in_the_log(
    tasks: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    nowhere = replace(tasks.settings, redis_url="redis://127.0.0.1:1/0")
    monkeypatch.setattr(tasks, "settings", nowhere)
    getattr(tasks, name)()
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.exc_info is None
