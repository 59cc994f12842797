"""Redis with a standby: web process and worker under load, while sentinels promote the replica."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from tests.e2e.load import Load, assert_each_answer_is_posted_once, serving
from tests.support.gateway import Gateway
from tests.support.services.polling import wait_until
from tests.support.services.sentinels import Standby
from tests.support.services.valkey import Valkey


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
    standby = Standby(tmp_path)
    try:
        with serving(tmp_path, standby.url) as it:
            yield Deployment(standby, it.gateway, it.load, tmp_path / "spool")
    finally:
        standby.stop()


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
