"""An event that only the log of a killed process has reaches the ledger, once."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from redis import Redis

from app.ledger.posting import Ledger
from app.settings import Settings
from app.storage.redis.keys import EVENTS, OPEN, OWNER
from app.storage.sql.tables import entries, rollups
from app.usage.messages.open_record import OpenRecord
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from tests.cli.command import Tollgate
from tests.support.gateway import Gateway, gunicorn, vendor_table, with_account
from tests.support.services.polling import has_exited, wait_until
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import DONE, SimulatedVendor, body_of, choice, stream_reply, usage_of
from workers.consumer import consume
from workers.reaper import reap

STREAM: dict[str, Any] = {"model": "sim/m", "prompt": "one two", "stream": True}
MARK = "usage event not recorded yet"


@dataclass
class Site:
    """A web process with a Redis and a spool that can be taken from it."""

    gateway: Gateway
    vendor: SimulatedVendor
    valkey: Valkey
    web_pid: int
    root: Path

    @property
    def log(self) -> Path:
        return self.root / "web.log"

    def break_everything(self) -> None:
        """Kill Redis, and leave a file where the spool's directory should be."""
        self.valkey.kill()
        (self.root / "spool").rename(self.root / "spool.away")
        (self.root / "spool").write_text("in the way")

    def kill(self) -> None:
        """Kill the web process and its master at once."""
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.web_pid)], capture_output=True, check=True
        )
        pids = [self.web_pid, *map(int, children.stdout.split())]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(map(has_exited, pids)))


@contextmanager
def site(root: Path, log_format: str) -> Iterator[Site]:
    """Run a web process; an account `acme` with a key is there."""
    valkey, vendor = Valkey(root, persistent=True).start(), SimulatedVendor()
    (root / "vendors.toml").write_text(vendor_table(vendor.url))
    (root / "spool").mkdir()
    env = {
        "REDIS_URL": valkey.url,
        "DATABASE_URL": new_ledger(root / "ledger.db"),
        "TOLLGATE_VENDORS": str(root / "vendors.toml"),
        "TOLLGATE_SPOOL_DIR": str(root / "spool"),
        "TOLLGATE_LOG_FORMAT": log_format,
        "SIM_API_KEY": "sk-simulated-secret",
    }
    try:
        with (
            gunicorn(env, root / "web.log") as (url, pid),
            with_account(url, Settings.from_env(env)) as gateway,
        ):
            yield Site(gateway, vendor, valkey, pid, root)
    finally:
        vendor.stop()
        valkey.kill()


def run_worker(site: Site) -> None:
    """Do what workers do until nothing is under way: estimate, post."""
    with Redis.from_url(site.valkey.url) as redis:
        records = OpenRecords(redis)
        started_ms = [OpenRecord.decode(raw).started_at_ms for raw in records.all().values()]
        for name in redis.scan_iter(f"{OWNER}*"):  # as half a minute later
            redis.delete(name)
        reap(records, now_ms=max(started_ms, default=0) + 60_000)
        consume(EventStream(redis), Ledger(site.gateway.engine), consumer="worker")
        assert (redis.hlen(OPEN), redis.xlen(EVENTS)) == (0, 0)


def posted_from_log(site: Site) -> str:
    env = {"REDIS_URL": site.valkey.url}
    url = f"sqlite:///{site.root / 'ledger.db'}"
    return (
        Tollgate(url, site.gateway.engine, env).run("reconcile", "--from-log", str(site.log)).stdout
    )


def books(site: Site) -> tuple[list[tuple[str, str, int]], int]:
    """The entries, and the tokens of all rollups."""
    columns = (entries.c.status, entries.c.source, entries.c.total_tokens)
    with site.gateway.engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(sa.select(*columns))]
        return rows, connection.scalar(sa.select(sa.func.sum(rollups.c.total_tokens))) or 0


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.parametrize("order", ["log first", "estimate first"])
def test_what_neither_redis_nor_the_spool_took_is_posted_from_the_log(
    tmp_path: Path, log_format: str, order: str
) -> None:
    with site(tmp_path, log_format) as it:
        usage = body_of(choice("", "stop"), usage=usage_of(1234, 7))
        it.vendor.reply(
            stream_reply(
                body_of(choice("Hel")), it.break_everything, body_of(choice("lo")), usage, DONE
            )
        )
        answer = it.gateway.post({**STREAM, "stream_options": {"include_usage": True}})
        assert (answer.status_code, answer.text.endswith("[DONE]\n\n")) == (200, True)
        wait_until(lambda: MARK in it.log.read_text())
        alarms = it.gateway.get("/../readyz").json()["alarms"]
        assert {"redis", "spool_unusable"} <= alarms.keys()
        it.kill()
        it.valkey.start()
        if order == "estimate first":
            run_worker(it)
            assert books(it)[0][0][:2] == ("abandoned", "estimated")
        found = dict(row.rsplit(maxsplit=1) for row in posted_from_log(it).splitlines()[1:])
        assert found["events found"] == "1"
        assert found["posted" if order == "log first" else "known already"] == "1"
        run_worker(it)
        posted_from_log(it)
        assert books(it) == ([("completed", "vendor", 1241)], 1241)
