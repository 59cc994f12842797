"""Redis with a standby: web process and worker under load, while sentinels promote the replica."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from app.settings import Settings
from tests.e2e.load import Load, assert_each_answer_is_posted_once
from tests.support.gateway import Gateway, gunicorn, vendor_table, with_account
from tests.support.services.celery_worker import ALONE, CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.sentinels import Standby
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor


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


def test_three_failovers_under_load_lose_and_double_nothing(deployment: Deployment) -> None:
    deployment.load.start()
    for by in ("kill", "pause", "kill"):
        deployment.end_primary(by)
    assert_each_answer_is_posted_once(deployment.load, deployment.gateway, deployment.spool)


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
    assert_each_answer_is_posted_once(deployment.load, deployment.gateway, deployment.spool)
