"""Starting and stopping a whole deployment as its Procfile would."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.ledger.reports.query import UsageQuery, UsageRow
from app.ledger.reports.reader import UsageReader
from app.settings import Settings
from tests.support.gateway import ROOT, Gateway, gunicorn, vendor_table, with_account
from tests.support.services.polling import wait_until
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor


@dataclass
class Candidate:
    """A running deployment. `root` is where its files and logs are."""

    gateway: Gateway
    vendor: SimulatedVendor
    web_pid: int
    root: Path
    redis_url: str

    def usage(self, account_id: str) -> UsageRow | None:
        """Return all that the ledger has of an account, once nothing is under way."""
        wait_until(lambda: not self.gateway.redis.hlen("usage:open"))
        wait_until(lambda: not self.gateway.redis.xlen("usage:events"))
        query = UsageQuery(
            start_s=0,
            end_s=int(time.time()) + 900,
            bucket_s=None,
            account_ids=frozenset({account_id}),
            group_by=("account",),
        )
        rows = UsageReader(self.gateway.engine).rows(query)
        return rows[0] if rows else None


@contextmanager
def deployed(root: Path, more_env: Mapping[str, str] | None = None) -> Iterator[Candidate]:
    """Run everything; an account `acme` with a key is there."""
    valkey, vendor = Valkey(root).start(), SimulatedVendor()
    table = root / "vendors.toml"
    table.write_text(vendor_table(vendor.url))
    env = {
        "REDIS_URL": valkey.url,
        "DATABASE_URL": new_ledger(root / "ledger.db"),
        "TOLLGATE_VENDORS": str(table),
        "TOLLGATE_SPOOL_DIR": str(root / "spool"),
        "SIM_API_KEY": "sk-simulated-secret",
        **(more_env or {}),
    }
    settings = Settings.from_env(env)
    try:
        with (
            celery(env, root / "worker.log"),
            gunicorn(env, root / "web.log") as (url, pid),
            with_account(url, settings) as gateway,
        ):
            yield Candidate(gateway, vendor, pid, root, valkey.url)
    finally:
        vendor.stop()
        valkey.stop()


@contextmanager
def celery(env: Mapping[str, str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a real Celery worker with beat."""
    command = [sys.executable, "-m", "celery", "-A", "workers.celery_app", "worker", "-B"]
    command += ["--concurrency", "1", "--schedule", str(log.with_suffix(".schedule"))]
    with log.open("wb") as output:
        worker = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **env},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield worker
    finally:
        worker.terminate()
        try:
            worker.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
