"""A primary that three real sentinels know: it is killed, paused and replaced."""

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from redis import Redis, RedisError
from redis.sentinel import MasterNotFoundError

from app.settings import Settings
from app.storage.redis import primary
from app.storage.redis.connection import CONNECTIONS, connect
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import EVENTS
from app.storage.redis.primary import PoolAge
from app.storage.redis.scripts import Script
from app.storage.redis.sentinels import SentinelPrimary
from app.storage.redis.url import parse_redis_url
from tests.support.gateway import Gateway, running
from tests.support.ports import free_port
from tests.support.services.polling import wait_until
from tests.support.services.sentinels import MASTER, Standby

ADD = Script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
ASK = {"model": "sim/m", "prompt": "x"}


@pytest.fixture
def standby(tmp_path: Path) -> Iterator[Standby]:
    standby = Standby(tmp_path)
    yield standby
    standby.stop()


def works(attempt: Callable[[], object]) -> Callable[[], bool]:
    """Return a condition for `wait_until`: the attempt raises no error of Redis."""

    def condition() -> bool:
        try:
            attempt()
        except (RedisError, OSError):
            return False
        return True

    return condition


@pytest.mark.parametrize("end", ["kill", "pause"])
def test_pool_and_group_commit_find_the_new_primary(standby: Standby, end: str) -> None:
    former = standby.primary
    with connect(f"{standby.url}?client_name=ours", 3.0) as redis:
        commit = GroupCommit(redis)
        commit.run(ADD, ["sum"], [1])
        with ThreadPoolExecutor(40) as pool:  # all connections that there may be
            list(pool.map(lambda _: redis.blpop(["nothing"], 0.2), range(40)))
        ours = [client for client in redis.client_list() if client["name"] == "ours"]
        assert len(ours) == CONNECTIONS + 1
        getattr(former, end)()
        wait_until(works(lambda: commit.run(ADD, ["sum"], [1])))
        standby.wait_until_promoted(former)
        # None of the connections that lay idle in the pool leads to the former primary any more.
        with ThreadPoolExecutor(40) as pool:
            list(pool.map(lambda n: redis.set(f"key-{n}", n), range(40)))
        with Redis.from_url(standby.primary.url) as present:
            assert len(present.keys("key-*")) == 40
            assert present.get("sum") == b"2"


def test_a_paused_primary_that_resumes_gets_no_more_writes(standby: Standby) -> None:
    """It takes itself for the primary until a sentinel reaches it, and drops what it then has."""
    former = standby.primary
    with connect(standby.url, 3.0) as redis:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: redis.blpop(["nothing"], 0.2), range(8)))
        former.pause()
        wait_until(works(lambda: redis.set("first", 1)))
        for sentinel in standby.sentinels:  # they wait four such periods before they demote it
            sentinel.hurry({"publish-period": 60_000})
        former.resume()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: redis.set(f"key-{n}", n), range(8)))
        with Redis.from_url(former.url) as client:
            assert client.role()[0] == b"master"
            assert not client.keys("key-*")


def test_an_old_connection_asks_the_sentinels_again(
    standby: Standby, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(standby.url, 3.0) as redis:
        redis.set("a", 1)
        former = standby.primary
        standby.sentinels[0].client().execute_command("SENTINEL", "FAILOVER", MASTER)  # type: ignore[no-untyped-call]
        standby.wait_until_promoted(former)
        monkeypatch.setattr(primary, "AGE_LIMIT_S", 0.0)
        wait_until(works(lambda: redis.set("a", 2)))
        with Redis.from_url(standby.primary.url) as present:
            assert present.get("a") == b"2"


def test_one_sentinel_is_enough_to_find_the_primary(standby: Standby) -> None:
    standby.sentinels[0].kill()
    standby.sentinels[1].pause()
    with connect(standby.url, 4.5) as redis:
        assert redis.set("a", 1)


def test_threads_that_wait_for_a_sentinel_share_its_answer(
    standby: Standby, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = parse_redis_url(standby.url)
    primary = SentinelPrimary(url, 1.0, PoolAge())
    looks = []
    real = SentinelPrimary._look

    def slow(self: SentinelPrimary) -> Any:
        looks.append(1)
        wait_until(lambda: len(waiting) == 20)
        return real(self)

    waiting: list[int] = []

    def ask(number: int) -> tuple[str, int]:
        waiting.append(number)
        return primary.address()

    monkeypatch.setattr(SentinelPrimary, "_look", slow)
    with ThreadPoolExecutor(20) as pool:
        found = set(pool.map(ask, range(20)))
    assert found == {("127.0.0.1", standby.primary.port)}
    assert 1 <= len(looks) <= 20


def test_no_sentinel_and_an_unknown_master_are_errors_without_a_password(standby: Standby) -> None:
    hosts = f"127.0.0.1:{standby.sentinels[0].port},127.0.0.1:{free_port()}"
    for url in (
        f"redis+sentinel://:hunter2@{hosts}/other?sentinel_password=hunter2",
        f"redis+sentinel://:hunter2@127.0.0.1:{free_port()}/{MASTER}",
    ):
        with connect(url, 1.0) as redis, pytest.raises(MasterNotFoundError) as error:
            redis.get("a")
        assert "hunter2" not in str(error.value)


def test_servers_and_sentinels_have_passwords_of_their_own(tmp_path: Path) -> None:
    standby = Standby(tmp_path, password="hard-to-guess", sentinel_password="another")
    try:
        with connect(standby.url, 2.0) as redis:
            assert redis.set("a", 1)
            former = standby.primary
            former.kill()
            wait_until(works(lambda: redis.set("a", 2)))
        wrong = standby.url.replace("another", "a-wrong-one")
        with connect(wrong, 2.0) as redis, pytest.raises(MasterNotFoundError):
            redis.get("a")
    finally:
        standby.stop()


def test_requests_go_on_while_the_sentinels_promote_the_replica(
    settings: Settings, standby: Standby
) -> None:
    own = dataclasses.replace(settings, redis_url=standby.url, redis_timeout_s=1.0)
    with running(own) as gateway:
        assert gateway.post(ASK).status_code == 200
        former = standby.primary
        former.pause()
        assert gateway.post(ASK).status_code == 200
        assert list(settings.spool_dir.glob("*.jsonl"))
        standby.wait_until_promoted(former)
        wait_until(lambda: not list(settings.spool_dir.glob("*.jsonl")))
        assert ready(gateway).json()["alarms"] == {}
        assert gateway.post(ASK).status_code == 200
        with Redis.from_url(standby.primary.url) as present:
            wait_until(lambda: present.xlen(EVENTS) >= 2)


def test_requests_are_rejected_until_the_replica_is_promoted(
    settings: Settings, standby: Standby
) -> None:
    own = dataclasses.replace(
        settings, redis_url=standby.url, redis_timeout_s=1.0, on_redis_down="refuse"
    )
    with running(own) as gateway:
        assert gateway.post(ASK).status_code == 200
        standby.primary.kill()
        assert gateway.post(ASK).status_code == ready(gateway).status_code == 503
        wait_until(lambda: gateway.post(ASK).status_code == 200)
        assert ready(gateway).status_code == 200


def ready(gateway: Gateway) -> requests.Response:
    return requests.get(gateway.base_url.replace("/v5", "/readyz"), timeout=60)
