"""Callers that keep a gateway busy, and whether each answer of theirs is in the ledger once."""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from app.settings import Settings
from app.storage.redis.keys import DEAD, EVENTS, OPEN
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import entries
from tests.support.gateway import Gateway, gunicorn, vendor_table, with_account
from tests.support.processes import join
from tests.support.services.celery_worker import ALONE, CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.sqlite import new_ledger
from tests.support.vendor import SimulatedVendor

CALLERS = 8


@dataclass(frozen=True, slots=True)
class Serving:
    """A worker, a web process and its load; closing `web` ends the web process."""

    worker: CeleryWorker
    gateway: Gateway
    load: "Load"
    web: contextlib.ExitStack


class Load:
    """Callers that send one request after another; each has a `user` of its own."""

    def __init__(self, gateway: Gateway) -> None:
        self.answered: list[str] = []
        self.failed: list[str] = []
        self._gateway = gateway
        self._ends = threading.Event()
        self._callers = [
            threading.Thread(target=self._call, args=(number,), daemon=True)
            for number in range(CALLERS)
        ]

    def start(self) -> None:
        """Begin."""
        for caller in self._callers:
            caller.start()

    def stop(self) -> None:
        """End, after the requests in flight."""
        self._ends.set()
        join(*(caller for caller in self._callers if caller.ident))

    def more(self, count: int) -> None:
        """Wait until `count` more requests are answered."""
        enough = len(self.answered) + count
        wait_until(lambda: len(self.answered) >= enough or self.failed)

    def _call(self, number: int) -> None:
        turn = 0
        while not self._ends.is_set():
            turn += 1
            user = f"{number}-{turn}"
            stream = turn % 2 == 0
            body = {"model": "sim/m", "prompt": "one two", "stream": stream, "user": user}
            response = self._gateway.post(body)
            is_whole = response.status_code == 200 and (not stream or b"[DONE]" in response.content)
            (self.answered if is_whole else self.failed).append(user)


@contextlib.contextmanager
def serving(folder: Path, redis_url: str, **settings: str) -> Iterator[Serving]:
    """Yield a worker and a web process with `settings` on a Redis, and their load, which waits."""
    vendor = SimulatedVendor()
    table = folder / "vendors.toml"
    table.write_text(vendor_table(vendor.url))
    with contextlib.ExitStack() as stack:
        stack.callback(vendor.stop)
        env = {
            "REDIS_URL": redis_url,
            "DATABASE_URL": new_ledger(folder / "ledger.db"),
            "TOLLGATE_VENDORS": str(table),
            "TOLLGATE_SPOOL_DIR": str(folder / "spool"),
            "TOLLGATE_REDIS_TIMEOUT_S": "0.5",
            "SIM_API_KEY": "sk-simulated-secret",
            **settings,
        }
        worker = CeleryWorker(folder / "worker.log", env, ALONE)
        stack.callback(worker.kill)
        worker.start()
        web = stack.enter_context(contextlib.ExitStack())
        url, _ = web.enter_context(gunicorn(env, folder / "web.log"))
        gateway = stack.enter_context(with_account(url, Settings.from_env(env)))
        load = Load(gateway)
        stack.callback(load.stop)
        yield Serving(worker, gateway, load, web)


def posted(gateway: Gateway) -> "Counter[str]":
    """Return how often the ledger has each user's request as completed."""
    engine = create_engine(str(gateway.engine.url))
    with engine.connect() as connection:
        query = select(entries.c.user).where(entries.c.status == "completed")
        found = Counter(connection.scalars(query))
    engine.dispose()
    return found


def settle(gateway: Gateway, spool: Path) -> None:
    """Wait until nothing is in flight, and every event is posted."""
    redis = gateway.redis
    wait_until(lambda: not list(spool.glob("*.jsonl")), deadline_s=120)
    wait_until(lambda: not redis.hlen(OPEN) and not redis.xlen(EVENTS), deadline_s=120)


def assert_each_answer_is_posted_once(load: Load, gateway: Gateway, spool: Path) -> None:
    """End the load, and compare what was answered with the ledger."""
    load.more(50)
    load.stop()
    assert not load.failed
    answered = Counter(load.answered)
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not answered - posted(gateway), deadline_s=60)
    settle(gateway, spool)
    there = posted(gateway)
    missing, doubled = (answered - there).total(), (there - answered).total()
    assert (missing, doubled) == (0, 0), f"{missing} missing, {doubled} doubled, of {len(answered)}"
    assert not gateway.redis.xlen(DEAD)
