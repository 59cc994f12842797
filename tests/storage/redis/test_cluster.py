"""A Redis that is a cluster, by its own word or by its errors."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from app.settings import ConfigError
from app.storage.redis.cluster import is_cluster, reject_cluster
from app.storage.redis.connection import connect
from tests.support.services.valkey import Valkey, as_cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator["Redis"]:
    """A client of a node that has no slots yet."""
    server = Valkey(tmp_path, more=as_cluster()).start()
    with connect(server.url, 10.0) as redis:
        yield redis
    server.kill()


def forbid_info(redis: "Redis") -> None:
    redis.execute_command("ACL", "SETUSER", "default", "-info")  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("has_info", [True, False])
@pytest.mark.parametrize("slots", [0, 8192, 16384])
def test_a_cluster_is_rejected_with_the_reason(
    cluster: "Redis", slots: int, has_info: bool
) -> None:
    if slots:
        cluster.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, slots - 1)  # type: ignore[no-untyped-call]
        cluster.config_set("cluster-require-full-coverage", "no")
    if not has_info:
        forbid_info(cluster)
    with pytest.raises(ConfigError, match=r"several keys in one step.*docs/scaling\.md"):
        reject_cluster(cluster)


@pytest.mark.parametrize("has_info", [True, False])
def test_one_redis_is_not_rejected(own_valkey: Valkey, has_info: bool) -> None:
    with connect(own_valkey.url, 10.0) as redis:
        if not has_info:
            forbid_info(redis)
        assert not is_cluster(redis)
        reject_cluster(redis)


def test_a_redis_that_is_down_is_not_rejected() -> None:
    with connect("redis://127.0.0.1:1/0", 10.0) as redis:
        reject_cluster(redis)
