"""Redis or the ledger lose their memory under load: nothing is lost, or what is lost is counted."""

import contextlib
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis

from app.storage.redis.keys import EVENTS, OPEN
from app.usage.missing import count_missing
from app.usage.redis.processes import Processes
from tests.e2e.load import (
    Load,
    assert_each_answer_is_posted_once,
    posted,
    serving,
    settle,
)
from tests.support.gateway import Gateway
from tests.support.services.celery_worker import CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey


@dataclass
class Deployment:
    """A web process, a worker, their Redis and their ledger, under load."""

    folder: Path
    valkey: Valkey
    worker: CeleryWorker
    gateway: Gateway
    load: Load
    web: contextlib.ExitStack

    @property
    def spool(self) -> Path:
        """Where the web process keeps its second copy."""
        return self.folder / "spool"

    @property
    def ledger(self) -> Path:
        """The file of the ledger."""
        return self.folder / "ledger.db"


@contextlib.contextmanager
def deployed(folder: Path, **settings: str) -> Iterator[Deployment]:
    """Yield a deployment with `settings`, which has served some requests."""
    (folder / "redis").mkdir()
    valkey = Valkey(folder / "redis", persistent=True, durable=True).start()
    try:
        with serving(folder, valkey.url, **settings) as it:
            it.load.start()
            it.load.more(100)
            yield Deployment(folder, valkey, it.worker, it.gateway, it.load, it.web)
    finally:
        valkey.stop()


def is_flushed(it: Deployment) -> None:
    """Somebody empties Redis."""
    it.gateway.redis.flushall()


def is_trimmed(it: Deployment) -> None:
    """Somebody empties the stream by hand, while events wait there."""
    it.worker.pause()
    it.load.more(50)
    assert it.gateway.redis.xtrim(EVENTS, 0, approximate=False)
    it.worker.resume()


def is_restored(it: Deployment) -> None:
    """An older backup of Redis is restored."""
    backup = it.folder / "backup"
    shutil.copytree(it.folder / "redis" / "appendonlydir", backup)
    it.load.more(100)
    it.valkey.kill()
    shutil.rmtree(it.folder / "redis" / "appendonlydir")
    shutil.move(backup, it.folder / "redis" / "appendonlydir")
    it.load.more(10)
    it.valkey.start()


def starts_empty(it: Deployment) -> None:
    """Redis is replaced by an empty one."""
    it.valkey.kill()
    shutil.rmtree(it.folder / "redis" / "appendonlydir")
    it.valkey.start()


@pytest.mark.parametrize("loses", [is_flushed, is_trimmed, is_restored, starts_empty])
def test_what_redis_loses_is_sent_again_once(
    tmp_path: Path, loses: Callable[[Deployment], None]
) -> None:
    """Without the journal, 30 to 80 events were lost here, and nothing said so."""
    with deployed(tmp_path) as it:
        for _ in range(2):
            loses(it)
            it.load.more(50)
        assert_each_answer_is_posted_once(it.load, it.gateway, it.spool)
        wait_until(lambda: missing(it) == 0)


def missing(it: Deployment) -> int:
    """Return how many requests a worker has found to be missing."""
    with Redis.from_url(it.valkey.url) as redis:
        search = Processes(redis).search()
    return count_missing(search.missing) if search is not None else -1


def test_without_a_journal_what_redis_loses_is_counted_exactly(tmp_path: Path) -> None:
    with deployed(tmp_path, TOLLGATE_JOURNAL="off") as it:
        it.worker.pause()
        it.load.more(50)
        it.load.stop()
        wait_until(lambda: not it.gateway.redis.hlen(OPEN))
        it.gateway.redis.xtrim(EVENTS, 0, approximate=False)
        it.worker.resume()
        answered = Counter(it.load.answered)

        def lost() -> int:
            return (answered - posted(it.gateway)).total()

        wait_until(lambda: missing(it) == lost())
        assert missing(it) >= 50


def test_what_an_older_ledger_lacks_is_counted_exactly(tmp_path: Path) -> None:
    """Nobody keeps what was posted, so that the count is all that can be had."""
    with deployed(tmp_path) as it:
        wait_until(lambda: missing(it) == 0)
        with contextlib.closing(sqlite3.connect(it.ledger)) as ledger:
            ledger.execute("VACUUM INTO ?", (str(tmp_path / "backup.db"),))
        it.load.more(100)
        it.load.stop()
        settle(it.gateway, it.spool)
        answered = Counter(it.load.answered)
        wait_until(lambda: not answered - posted(it.gateway))
        it.worker.kill()
        it.web.close()
        it.gateway.engine.dispose()
        shutil.rmtree(it.spool)
        shutil.copyfile(tmp_path / "backup.db", it.ledger)
        lost = (answered - posted(it.gateway)).total()
        assert lost >= 100
        it.worker.start()
        wait_until(lambda: missing(it) == lost)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_kill_of_redis_while_its_disk_is_slow_loses_nothing(tmp_path: Path) -> None:
    """Redis puts its writes off while a flush takes 3 s, though it has answered."""
    with deployed(tmp_path) as it:
        it.valkey.kill()
        it.valkey.start(slow_disk_s=3.0)
        for _ in range(2):
            it.load.more(200)
            it.valkey.kill()
            it.load.more(10)
            it.valkey.start(slow_disk_s=3.0)
        assert_each_answer_is_posted_once(it.load, it.gateway, it.spool)
