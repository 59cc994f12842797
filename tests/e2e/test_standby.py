"""Redis with a standby: web process and worker under load, while sentinels promote the replica."""

import contextlib
import dataclasses
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import select

from app.settings import Settings
from app.storage.redis.keys import DEAD, EVENTS, OPEN
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import entries
from tests.support.gateway import Gateway, gunicorn, vendor_table, with_account
from tests.support.processes import join
from tests.support.services.celery_worker import ALONE, CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.sentinels import Standby
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

CALLERS = 8


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


def scripts_run(redis: "Redis") -> int:
    """Return how many scripts a server has run: requests are opened and published by scripts."""
    return int(redis.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0))


@dataclasses.dataclass
class Deployment:
    """A web process and a worker on a Redis with a standby, and their load."""

    standby: Standby
    gateway: Gateway
    load: Load
    spool: Path

    def end_primary(self, by: str) -> None:
        """Kill or pause the primary under load, and return when requests use the new one."""
        self.load.more(50)
        former = self.standby.primary
        getattr(former, by)()
        self.follow(former, by)

    def follow(self, former: Valkey, ended_by: str) -> None:
        """Wait until requests use the new primary, and the former one is its replica."""
        self.load.more(10)  # which go to the spool
        self.standby.wait_until_promoted(former)
        with Redis.from_url(self.standby.primary.url) as present:
            before = scripts_run(present)
            wait_until(lambda: scripts_run(present) > before + 50)
        former.resume() if ended_by == "pause" else former.start()
        self.standby.wait_until_whole()

    def settle(self) -> None:
        """Wait until nothing is in flight, and every event is posted."""
        redis = self.gateway.redis
        wait_until(lambda: not list(self.spool.glob("*.jsonl")), deadline_s=120)
        wait_until(lambda: not redis.hlen(OPEN) and not redis.xlen(EVENTS), deadline_s=120)

    def posted(self) -> "Counter[str]":
        """Return how often the ledger has each user's request as completed."""
        engine = create_engine(str(self.gateway.engine.url))
        with engine.connect() as connection:
            query = select(entries.c.user).where(entries.c.status == "completed")
            found = Counter(connection.scalars(query))
        engine.dispose()
        return found


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    vendor = SimulatedVendor()
    table = tmp_path / "vendors.toml"
    table.write_text(vendor_table(vendor.url))
    with contextlib.ExitStack() as stack:
        stack.callback(vendor.stop)
        standby = Standby(tmp_path)
        stack.callback(standby.stop)
        env = {
            "REDIS_URL": standby.url,
            "DATABASE_URL": new_ledger(tmp_path / "ledger.db"),
            "TOLLGATE_VENDORS": str(table),
            "TOLLGATE_SPOOL_DIR": str(tmp_path / "spool"),
            "TOLLGATE_REDIS_TIMEOUT_S": "0.5",
            "SIM_API_KEY": "sk-simulated-secret",
        }
        worker = CeleryWorker(tmp_path / "worker.log", env, ALONE)
        stack.callback(worker.kill)
        worker.start()
        url, _ = stack.enter_context(gunicorn(env, tmp_path / "web.log"))
        gateway = stack.enter_context(with_account(url, Settings.from_env(env)))
        load = Load(gateway)
        stack.callback(load.stop)
        yield Deployment(standby, gateway, load, tmp_path / "spool")


def lags(standby: Standby) -> Callable[[], None]:
    """Have the replica copy nothing from now on, until the function returned is called."""
    replica = standby.replica
    replica.pause()
    with Redis.from_url(standby.primary.url) as primary:
        primary.client_kill_filter(_type="replica")
    return replica.resume


def is_emptied(standby: Standby) -> Callable[[], None]:
    """Empty the replica, as one that has lost its disk."""
    with Redis.from_url(standby.replica.url) as replica:
        replica.config_set("replica-read-only", "no")
        replica.flushall()
        replica.config_set("replica-read-only", "yes")
    return lambda: None


def assert_each_answer_is_posted_once(deployment: Deployment) -> None:
    """End the load, and compare what was answered with the ledger."""
    deployment.load.more(50)
    deployment.load.stop()
    assert not deployment.load.failed
    answered = Counter(deployment.load.answered)
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not answered - deployment.posted(), deadline_s=60)
    deployment.settle()
    posted = deployment.posted()
    missing, doubled = answered - posted, posted - answered
    assert (missing.total(), doubled.total()) == (0, 0), f"of {answered.total()}"
    assert not deployment.gateway.redis.xlen(DEAD)


def test_three_failovers_under_load_lose_and_double_nothing(deployment: Deployment) -> None:
    deployment.load.start()
    for by in ("kill", "pause", "kill"):
        deployment.end_primary(by)
    assert_each_answer_is_posted_once(deployment)


@pytest.mark.parametrize("fault", [lags, is_emptied])
def test_a_replica_that_lacks_events_loses_and_doubles_nothing(
    deployment: Deployment, fault: Callable[[Standby], Callable[[], None]]
) -> None:
    deployment.load.start()
    deployment.load.more(50)
    former = deployment.standby.primary
    repair = fault(deployment.standby)
    deployment.load.more(50)
    former.kill()
    repair()
    deployment.follow(former, "kill")
    assert_each_answer_is_posted_once(deployment)
