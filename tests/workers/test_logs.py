"""The log of a worker and of beat: a record a line, in the web process's form, without secrets."""

import json
import logging
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.devstack.procfile import PROCFILE, read_procfile
from app.settings import ROOT
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS, OPEN
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from tests.support.events import open_record, usage_event
from tests.support.processes import started
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.tools import tool_env
from workers.logs import first_line_only

SECRET = "hunter2"
COMMANDS = read_procfile(PROCFILE.read_text(encoding="utf-8"))
TEXT_LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{3} (?:INFO|WARNING|ERROR|CRITICAL) ")


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey with a password."""
    directory = tmp_path / "valkey"
    directory.mkdir()
    server = Valkey(directory, password=SECRET, persistent=True).start()
    yield server
    server.stop()


@contextmanager
def logged(tmp_path: Path, valkey: Valkey, database_url: str, log_format: str) -> Iterator[Path]:
    """Run worker and beat as the Procfile says; yield the file of all that they write."""
    env = {**tool_env(tmp_path), "REDIS_URL": valkey.url, "DATABASE_URL": database_url}
    env |= {"TOLLGATE_SPOOL_DIR": str(tmp_path / "spool"), "TOLLGATE_LOG_FORMAT": log_format}
    log = tmp_path / "log"
    with log.open("ab") as output:
        options = {"cwd": ROOT, "env": env, "stdout": output, "stderr": subprocess.STDOUT}
        worker = ["sh", "-c", f"exec {COMMANDS['worker']}"]
        beat = ["sh", "-c", f"exec {COMMANDS['beat']}"]
        with started(worker, **options), started(beat, **options):
            wait_until(lambda: " ready." in log.read_text())
            with connect(valkey.url, 30.0) as redis:
                EventStream(redis).publish(usage_event())
            wait_until(lambda: "posted usage events" in log.read_text())  # beat runs
            yield log


def loses_redis(valkey: Valkey, log: Path) -> None:
    """Have Celery report that the broker is down, and that it is back."""
    connected = log.read_text().count("Connected to redis")
    valkey.kill()
    wait_until(lambda: "Trying again in" in log.read_text())
    wait_until(lambda: "Message Error" in log.read_text())
    valkey.start()
    wait_until(lambda: log.read_text().count("Connected to redis") > connected)


def test_each_line_is_a_json_object_and_names_the_request_where_there_is_one(
    tmp_path: Path, valkey: Valkey, sqlite_url: str
) -> None:
    with logged(tmp_path, valkey, sqlite_url, "json") as log:
        lost = open_record(owner="nobody")
        with connect(valkey.url, 30.0) as redis:
            OpenRecords(redis).reopen(lost.event_id, lost.encode(), "", 0)
            redis.xadd(EVENTS, {"event": b"no event"})
            wait_until(lambda: not redis.hlen(OPEN) and not redis.xlen(EVENTS))
        wait_until(lambda: "estimated events" in log.read_text())
        loses_redis(valkey, log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    assert {"celery", "workers"} <= {line["logger"].partition(".")[0] for line in lines}
    messages = " ".join(line["message"] for line in lines)
    for part in ("Connected to redis://:**@", "ready.", "dead-letter stream", "Warm shutdown"):
        assert part in messages
    (about,) = [it for it in lines if it["message"] == "estimated the event of a crashed process"]
    assert about["event_id"] == lost.event_id
    assert about["request_id"] == lost.request_id
    assert about["account_id"] == lost.account_id
    assert SECRET not in log.read_text()


def test_text_is_for_people_and_has_a_line_for_each_record(
    tmp_path: Path, valkey: Valkey, sqlite_url: str
) -> None:
    with logged(tmp_path, valkey, sqlite_url, "text") as log:
        loses_redis(valkey, log)
    lines = log.read_text().splitlines()
    assert [line for line in lines if not TEXT_LINE.match(line)] == []
    assert SECRET not in log.read_text()


def test_an_error_of_beat_takes_one_line(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("tests.beat")
    logger.addFilter(first_line_only)
    error = ConnectionError("refused")
    logger.error("Message Error: %s\n%s", error, ["a", "stack"], exc_info=error)
    assert caplog.text.count("\n") == 1
    assert "Message Error: refused" in caplog.text
