"""Tollgate under test: the Procfile's processes in front of the bench vendor; usage is recorded.

The web process has the gateway's core to itself. Valkey, the Celery worker and beat, which run on
other hosts in production, share the other cores.
"""

import os
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from app.accounts.accounts import Accounts
from app.devstack.children import Children
from app.devstack.stack import free_port, valkey_command, valkey_is_ready
from app.settings import ROOT
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import upgrade
from bench.starting import first_response_s, start, wait_until
from bench.target import Target

NAME = "Tollgate"
VENDOR = "bench"
#: The same vendor through its chat endpoint: asked for plain chunks, as OpenAI is, or not.
CHAT, PADDED = "bench-chat", "bench-padded"
#: How long the worker may take to post the usage of one round.
SETTLE_S = 120.0


class Tollgate:
    """An installation in `folder`. `children` owns its processes, except the web process."""

    def __init__(
        self, folder: Path, vendor_port: int, rest: set[int], database_url: str | None = None
    ) -> None:
        self._folder = folder
        self._rest = rest
        self._valkey_port = free_port()
        self._redis_url = f"redis://127.0.0.1:{self._valkey_port}/0"
        self._database_url = database_url or f"sqlite:///{folder / 'ledger.db'}"
        folder.mkdir(parents=True)
        (folder / "vendors.toml").write_text(_vendors(vendor_port))
        upgrade(self._database_url)
        self._key = self._make_key()

    @property
    def redis_url(self) -> str:
        """The address of its Valkey."""
        return self._redis_url

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes, without the web's port."""
        scripts = Path(sys.executable).parent
        return {
            **os.environ,
            "PATH": f"{scripts}:{os.environ.get('PATH', os.defpath)}",
            "REDIS_URL": self._redis_url,
            "DATABASE_URL": self._database_url,
            "TOLLGATE_SPOOL_DIR": str(self._folder / "spool"),
            "TOLLGATE_VENDORS": str(self._folder / "vendors.toml"),
            "TOLLGATE_LOG_FORMAT": "json",
            "BENCH_API_KEY": "bench-key",
        }

    def start_accounting(self, children: Children) -> None:
        """Start Valkey, the worker and beat, and wait for Valkey."""
        command = valkey_command(self._folder / "valkey", self._valkey_port)
        start(children, "valkey", command, self._rest)
        children.wait_until(lambda: valkey_is_ready(self._redis_url), "valkey", 30)
        commands = procfile()
        start(children, "worker", commands["worker"], self._rest)
        start(children, "beat", commands["beat"], self._rest)

    def start_web(
        self, log_dir: Path, cores: set[int], web_processes: int = 1
    ) -> tuple[Children, Target, float]:
        """Start web processes; return them and the time to the first response.

        The caller leaves the returned context.
        """
        port = free_port()
        env = {**self.environment(), "PORT": str(port), "WEB_CONCURRENCY": str(web_processes)}
        children = Children(log_dir, env).__enter__()
        try:
            started_s = time.monotonic()
            pid = start(children, "web", procfile()["web"], cores)
            target = Target(
                name=NAME,
                port=port,
                path="/v5/completions",
                pid=pid,
                prefix=f"{VENDOR}/",
                headers={"x-api-key": self._key},
                settle=self._settle,
            )
            return children, target, first_response_s(children, target, started_s)
        except BaseException:
            children.stop()
            raise

    def backlog(self) -> int:
        """Return how many events the ledger does not have yet."""
        with connect(self._redis_url, timeout_s=5) as redis:
            return int(redis.xlen(EVENTS))

    def _settle(self) -> None:
        wait_until(lambda: self.backlog() == 0, "the ledger has every event", SETTLE_S)

    def _make_key(self) -> str:
        engine = create_engine(self._database_url)
        try:
            accounts = Accounts(engine)
            accounts.create("bench", "Bench")
            return accounts.create_key(["bench"], ["completions"])[1]
        finally:
            engine.dispose()


def _vendors(port: int) -> str:
    common = f'gateway = "openai"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
    common += 'api_key_env = "BENCH_API_KEY"\n'
    plain = "quirks = {stream_options = {include_obfuscation = false}}\n"
    entries = {VENDOR: "", CHAT: f"native = []\n{plain}", PADDED: "native = []\n"}
    return "".join(f"[vendors.{name}]\n{common}{more}\n" for name, more in entries.items())


def procfile() -> Mapping[str, list[str]]:
    """Return the Procfile's commands."""
    lines = (ROOT / "Procfile").read_text().splitlines()
    named = (line.partition(":") for line in lines)
    return {name: shlex.split(command) for name, _, command in named}
