"""Worker and beat, when Redis changes its role behind one address."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.settings import ROOT
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS
from app.usage.redis.stream import EventStream
from tests.support.events import usage_event
from tests.support.processes import end
from tests.support.services.celery_worker import CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.switch import Pair, is_cut_off

QUEUE = "celery:usage"


@contextmanager
def beat(env: dict[str, str], log: Path) -> Iterator[None]:
    """Run the clock alone."""
    command = [sys.executable, "-m", "celery", "-A", "workers.celery_app", "beat"]
    with log.open("wb") as output:
        clock = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **env}, stdout=output, stderr=output
        )
    try:
        yield
    finally:
        end(clock)


def test_worker_and_beat_follow_the_primary_there_and_back(tmp_path: Path, sqlite_url: str) -> None:
    pair = Pair(tmp_path)
    env = {"REDIS_URL": pair.address.url, "DATABASE_URL": sqlite_url}
    env |= {"TOLLGATE_SPOOL_DIR": str(tmp_path / "spool")}
    worker = CeleryWorker(tmp_path / "worker.log", env)
    with connect(pair.address.url, 5.0) as redis:
        stream = EventStream(redis)
        try:
            with beat(env, tmp_path / "beat.log"):
                wait_until(lambda: pair.first.llen(QUEUE))
                # As if no worker had run for long: this server reports that enough tasks wait.
                pair.first.lpush(QUEUE, *["{}"] * 10)
                pair.switch()
                is_cut_off(pair)
                wait_until(lambda: pair.second.llen(QUEUE))
            stream.publish(usage_event())
            worker.start()
            wait_until(lambda: not pair.second.xlen(EVENTS))
            pair.first.replicaof("NO", "ONE")
            pair.address.target = pair.servers[0].port
            pair.second.replicaof("127.0.0.1", "1")
            stream.publish(usage_event())
            assert pair.first.xlen(EVENTS) == 1
            wait_until(lambda: not pair.first.xlen(EVENTS))
            wait_until(lambda: not pair.first.xpending(EVENTS, "drain")["pending"])
        finally:
            worker.kill()
            pair.stop()
