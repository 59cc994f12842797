"""Redis changes its role behind one address, while connections to the former primary stay open."""

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import requests
from redis import ConnectionError as RedisConnectionError
from redis import ResponseError

from app.admission.numbering import Numbering
from app.admission.reservations import Check, Reservations
from app.serving.circuit_breaker import CircuitBreaker
from app.settings import Settings
from app.storage.redis import primary
from app.storage.redis.connection import connect
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import EVENTS, OPEN
from app.usage.redis.idempotency_keys import Claim, IdempotencyKeys
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream, StreamEntry
from tests.support.events import opening, usage_event
from tests.support.gateway import Gateway, running
from tests.support.services.polling import wait_until
from tests.support.services.switch import Pair, is_cut_off, replicates

ASK = {"model": "sim/m", "prompt": "x"}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(tmp_path)
    yield pair
    pair.stop()


def serves_nothing(pair: Pair) -> None:
    pair.first.config_set("replica-serve-stale-data", "no")
    pair.first.replicaof("127.0.0.1", "1")


def has_no_replicas(pair: Pair) -> None:
    pair.first.config_set("min-replicas-to-write", 1)


def cannot_save(pair: Pair) -> None:
    """Its disk is broken: it takes no more writes."""
    (Path(str(pair.first.config_get("dir")["dir"])) / "dump.rdb").mkdir()
    pair.first.config_set("save", "3600 1")
    pair.first.bgsave()
    wait_until(lambda: pair.first.info("persistence")["rdb_last_bgsave_status"] == "err")


DEMOTIONS = [replicates, is_cut_off, serves_nothing, has_no_replicas, cannot_save]


@pytest.mark.parametrize("demote", DEMOTIONS)
def test_every_writer_finds_the_new_primary_at_once(
    pair: Pair, demote: Callable[[Pair], None]
) -> None:
    with connect(pair.address.url, 5.0) as redis:
        commit = GroupCommit(redis)
        stream, records, rests = (
            EventStream(redis, commit),
            OpenRecords(redis, commit),
            CircuitBreaker(redis),
        )
        keys = IdempotencyKeys(redis, records, lambda: "me")
        check = Check(kind="requests", key="limits:r", limit=9, amount=1)

        def use(name: str) -> None:
            Processes(redis).heartbeat(Numbering("me"))
            records.reopen(name, b"{}", "", 0)
            assert Reservations(commit).admit(opening(f"{name}-2"), [check])[0]
            assert records.live_owners({"me"}) == {"me": b"1"}
            assert isinstance(keys.claim("acme", name, b"{}", "req_1"), Claim)
            rests.record_failure("sim")
            stream.publish(usage_event(event_id=name))
            stream.publish(usage_event())
            first, second = stream.claim_new("here", 10)
            stream.dead_letter([(first, "because")])
            stream.ack([second.entry_id])
            assert stream.dead_count() > 0

        use("before")
        with ThreadPoolExecutor(8) as pool:  # several connections of the pool lead there
            list(pool.map(lambda _: redis.blpop(["nothing"], 0.2), range(8)))
        pair.switch()
        demote(pair)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: records.reopen(f"o{n}", b"{}", "", 0), range(8)))
        pair.second.delete(EVENTS, "usage:owner:me")
        use("after")
        # A transaction of scripts fails as a whole, when they run.
        pair.address.target = pair.servers[0].port
        pair.second.replicaof("127.0.0.1", "1")
        for undo in (["replicaof", "no", "one"], ["config", "set", "min-replicas-to-write", "0"]):
            pair.first.execute_command(*undo)  # type: ignore[no-untyped-call]
        if demote is not cannot_save:
            stream.dead_letter([(StreamEntry("1-1", None, is_deleted=True), "because")])
            assert pair.first.xlen("usage:dead") == 2
        found = pair.second.hkeys(OPEN)
    assert {b"after-2", *(b"o%d" % n for n in range(8))} <= set(found)


def test_no_process_seems_crashed_on_a_former_primary_that_is_cut_off(pair: Pair) -> None:
    """A process's heartbeats no longer reach it."""
    with connect(pair.address.url, 5.0) as redis:
        records = OpenRecords(redis)
        assert records.live_owners({"me"}) == {}
        pair.switch()
        is_cut_off(pair)
        pair.second.set("usage:owner:me", 1)
        assert records.live_owners({"me"}) == {"me": b"1"}


def test_an_old_connection_is_left_for_what_the_address_means_by_now(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former primary may never learn that it is one."""
    with connect(pair.address.url, 5.0) as redis:
        redis.set("a", 1)
        pair.switch()
        redis.set("a", 2)
        assert pair.second.get("a") is None
        monkeypatch.setattr(primary, "AGE_LIMIT_S", 0.0)
        redis.set("a", 3)
    assert (pair.first.get("a"), pair.second.get("a")) == (b"2", b"3")


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("READONLY You can't write against a read only replica.", True),
        (
            "READONLY You can't write against a read only replica. script: 5e5f, on @user_script",
            True,
        ),
        (
            "ERR Error running script (call to f_5e5f): @user_script:2: @user_script: 2:"
            " -READONLY You can't write against a read only replica.",
            True,
        ),
        ("UNBLOCKED force unblock from blocking operation, instance state changed", True),
        ("CLUSTERDOWN The cluster is down", True),
        ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", True),
        ("OOM command not allowed when used memory > 'maxmemory'.", False),
        ("NOSCRIPT No matching script.", False),
        ("WRONGTYPE Operation against a key holding the wrong kind of value", False),
        ("ERR value is READONLY or so", False),
    ],
)
def test_an_error_of_the_servers_role_is_distinguished_from_others(
    text: str, refuses: bool
) -> None:
    from redis._parsers.base import BaseParser

    error = BaseParser.parse_error(text)  # type: ignore[no-untyped-call]
    assert isinstance(error, ResponseError)
    connection = primary.FollowingConnection()
    with pytest.raises(primary.NotPrimary) if refuses else nullcontext():
        connection._check(error)


@pytest.mark.parametrize("policy", ["serve", "refuse"])
@pytest.mark.parametrize("demote", [replicates, is_cut_off])
def test_no_request_fails_while_the_former_primary_lives(
    settings: Settings, pair: Pair, policy: Any, demote: Callable[[Pair], None]
) -> None:
    own = dataclasses.replace(settings, redis_url=pair.address.url, on_redis_down=policy)
    with running(own) as gateway:
        gateway.accounts.set_limits("account", "acme", requests_per_minute=100)
        assert gateway.post(ASK).status_code == 200
        pair.switch()
        demote(pair)
        answers = [gateway.post(ASK) for _ in range(10)]
        assert [answer.status_code for answer in answers] == [200] * 10
        assert all("x-ratelimit-limit-requests" in answer.headers for answer in answers)
        assert ready(gateway).json()["alarms"] == {}
        wait_until(lambda: pair.second.xlen(EVENTS) >= 10)
    assert not list(settings.spool_dir.glob("*.jsonl"))


def test_readiness_reports_a_read_only_primary_and_the_new_one(
    settings: Settings, pair: Pair
) -> None:
    own = dataclasses.replace(settings, redis_url=pair.address.url, on_redis_down="refuse")
    with running(own) as gateway:
        assert ready(gateway).status_code == 200
        is_cut_off(pair)  # and the address has not followed yet
        response = ready(gateway)
        assert response.status_code == gateway.post(ASK).status_code == 503
        assert "READONLY" in response.json()["redis"]
        metrics = requests.get(gateway.base_url.replace("/v5", "/metrics"), timeout=60).text
        assert "\ntollgate_redis_up 0.0\n" in metrics
        pair.switch()
        assert ready(gateway).status_code == 200
        wait_until(lambda: gateway.post(ASK).status_code == 200)


def ready(gateway: Gateway) -> requests.Response:
    return requests.get(gateway.base_url.replace("/v5", "/readyz"), timeout=60)


def test_what_is_left_to_read_shows_that_a_connection_is_out_of_step(redis_url: str) -> None:
    """In one packet with the response before it, or later; or the server has closed it."""
    with connect(redis_url, 5.0) as redis:
        connection = redis.connection_pool.make_connection()
        assert not connection.can_read()
        connection.send_packed_command([b"PING\r\n"])
        assert connection.read_response() == b"PONG"
        assert not connection.can_read()
        connection.send_packed_command([b"PING\r\nPING\r\n"])
        wait_until(connection.can_read)
        assert connection.read_response() == b"PONG"
        assert connection.can_read()
        assert connection.read_response() == b"PONG"
        assert not connection.can_read()
        connection.send_packed_command([b"QUIT\r\n"])
        assert connection.read_response() == b"OK"
        with pytest.raises(RedisConnectionError):
            wait_until(connection.can_read)
        connection.disconnect()
