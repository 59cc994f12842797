"""Alarms about a real Redis and a spool."""

import logging
import time
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from app.admission.unchecked import UncheckedRequests
from app.observability import alarms as alarms_module
from app.observability import disk_alarms
from app.observability.alarms import Alarms, _backlog_alarms, server_alarms
from app.observability.disk_alarms import DiskAlarms
from app.storage.redis.keys import DEAD, EVENTS, UNCHECKED
from app.usage.disk.spool import Spool
from app.usage.missing import Missing, Search
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream
from tests.support.events import usage_event
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


@pytest.fixture
def alarms(redis: "Redis", tmp_path: Path) -> Alarms:
    return Alarms(redis, DiskAlarms(tmp_path / "spool"))


def test_a_spool_that_cannot_be_written_is_an_alarm_of_those_that_write_it(
    redis: "Redis", tmp_path: Path
) -> None:
    place = tmp_path / "spool"
    place.write_text("a file where the directory should be")
    report = Alarms(redis, DiskAlarms(place, writes=True)).check()
    assert not report.spool_is_usable
    assert str(place) in report.alarms["spool_unusable"]
    assert "TOLLGATE_SPOOL_DIR" in report.alarms["spool_unusable"]
    assert Alarms(redis, DiskAlarms(place)).check().spool_is_usable


def test_a_disk_that_is_nearly_full_is_an_alarm_of_those_that_spool(
    redis: "Redis", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is needed, while the spool can still be written."""
    alarms = Alarms(redis, DiskAlarms(tmp_path / "spool", writes=True))
    monkeypatch.setattr(disk_alarms, "ENOUGH_BYTES", 0)
    assert alarms.check().alarms == {}
    monkeypatch.setattr(disk_alarms, "ENOUGH_BYTES", 1 << 60)
    report = alarms.check()
    assert (list(report.alarms), report.spool_is_usable) == (["spool_disk"], True)
    assert str(tmp_path / "spool") in report.alarms["spool_disk"]
    assert "TOLLGATE_SPOOL_DIR" in report.alarms["spool_disk"]
    assert Alarms(redis, DiskAlarms(tmp_path / "spool")).check().alarms == {}


def test_requests_without_a_check_of_their_limits_are_an_alarm_for_a_while(
    redis: "Redis", alarms: Alarms
) -> None:
    """Of every process, also if another one has served them."""
    other = UncheckedRequests(redis)
    for reason in ("redis_timeout", "redis_down", "redis_down"):
        other.count(reason)
    other.report()
    report = alarms.check()
    assert list(report.alarms) == ["unlimited"]
    assert report.alarms["unlimited"].startswith(
        "3 requests were served without a check of their limits (redis_down: 2, redis_timeout: 1)."
    )
    redis.pexpire(UNCHECKED, 1)
    wait_until(lambda: alarms.check().alarms == {})


def test_where_all_is_well_there_is_no_alarm(redis: "Redis", alarms: Alarms) -> None:
    EventStream(redis).publish(usage_event())
    report = alarms.check()
    assert report.alarms == {}
    assert report.redis_is_up
    assert (report.backlog, report.dead, report.spool_bytes) == (1, 0, 0)
    assert report.oldest_event_age_s is not None
    assert report.oldest_event_age_s < alarms_module.LATE_S


def test_a_redis_without_an_append_only_file_is_an_alarm(redis: "Redis", alarms: Alarms) -> None:
    redis.config_set("appendonly", "no")
    assert list(alarms.check().alarms) == ["redis_persistence"]


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "noeviction"])
def test_a_redis_that_may_evict_is_an_alarm(redis: "Redis", alarms: Alarms, policy: str) -> None:
    redis.config_set("maxmemory-policy", policy)
    assert alarms.check().alarms == {}  # without a limit, nothing is evicted
    redis.config_set("maxmemory", 1 << 30)
    expected = [] if policy == "noeviction" else ["redis_eviction"]
    assert list(alarms.check().alarms) == expected


def test_a_redis_that_is_almost_full_is_an_alarm(redis: "Redis", alarms: Alarms) -> None:
    redis.config_set("maxmemory", int(redis.info("memory")["used_memory"] * 1.05))
    report = alarms.check()
    assert (list(report.alarms), report.redis_is_up) == (["redis_memory"], True)


def test_a_redis_that_rejects_writes_is_down_although_it_responds(
    redis: "Redis", alarms: Alarms
) -> None:
    EventStream(redis).publish(usage_event())
    redis.replicaof("127.0.0.1", 1)
    report = alarms.check()
    assert (set(report.alarms), report.redis_is_up, report.backlog) == ({"redis"}, False, 1)
    assert not alarms.redis_was_up  # it may be the wrong server
    redis.replicaof("NO", "ONE")
    redis.config_set("maxmemory", 1)
    report = alarms.check()
    assert (set(report.alarms), report.redis_is_up) == ({"redis", "redis_memory"}, False)
    assert "OOM" in report.alarms["redis"]
    assert alarms.redis_was_up


def test_a_redis_that_forbids_info_is_not_an_alarm(redis: "Redis", alarms: Alarms) -> None:
    redis.execute_command("ACL", "SETUSER", "default", "-info")  # type: ignore[no-untyped-call]
    report = alarms.check()
    assert (report.alarms, report.redis_is_up) == ({}, True)


def test_events_that_wait_too_long_or_could_not_be_posted_are_alarms(
    redis: "Redis", alarms: Alarms
) -> None:
    redis.xadd(EVENTS, {"event": b"{}"}, id="1-1")
    redis.xadd(DEAD, {"event": b"{}"})
    report = alarms.check()
    assert set(report.alarms) == {"backlog", "dead"}
    assert report.oldest_event_age_s is not None
    assert report.oldest_event_age_s > 1_000_000_000


def test_missing_usage_is_an_alarm_once_nothing_will_send_it_by_itself(
    redis: "Redis", alarms: Alarms
) -> None:
    now_ms = time.time_ns() // 1_000_000
    old = Missing("web-1", 3, 4, 1_780_000_000_000, 1_780_000_060_000, now_ms - 61_000)
    new = Missing("web-2", 1, 9, now_ms, now_ms, now_ms)
    Processes(redis).store({}, Search(now_ms, (new,)))
    assert alarms.check().alarms == {}
    Processes(redis).store({}, Search(now_ms, (old, new)))
    told = alarms.check().alarms["missing"]
    assert told.startswith("The usage of 2 requests is missing since 2026-05-28 20:26 UTC (web-1)")
    assert "tollgate reconcile" in told


def test_many_events_are_an_alarm_even_if_they_are_new(
    redis: "Redis", alarms: Alarms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms_module, "MANY_EVENTS", 1)
    for _ in range(2):
        EventStream(redis).publish(usage_event())
    assert list(alarms.check().alarms) == ["backlog"]


def test_without_redis_the_spool_is_still_checked(
    alarms: Alarms, own_valkey: Valkey, tmp_path: Path
) -> None:
    Spool(tmp_path / "spool", "other").append("event", b"{}")
    own_valkey.kill()
    report = alarms.check()
    assert set(report.alarms) == {"redis", "spool"}
    assert not report.redis_is_up
    assert not alarms.redis_was_up
    assert (report.backlog, report.oldest_event_age_s, report.dead) == (None, None, None)
    assert report.spool_bytes == len(b'{"event":{}}\n')


def test_an_alarm_is_logged_only_when_it_is_raised_and_when_it_clears(
    redis: "Redis", alarms: Alarms, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    redis.xadd(DEAD, {"event": b"{}"})
    for _ in range(3):
        alarms.check()
    redis.delete(DEAD)
    for _ in range(3):
        alarms.check()
    first, last = caplog.records
    assert (first.levelname, last.levelname) == ("WARNING", "INFO")
    assert "alarm dead" in first.getMessage()
    assert last.getMessage() == "alarm dead has cleared"


@pytest.mark.parametrize(
    ("about", "alarms"),
    [
        ({"aof_enabled": 1, "aof_last_write_status": "ok"}, set()),
        ({"aof_enabled": 1}, set()),
        ({}, set()),  # a hosted Redis may hide what it is
        ({"aof_enabled": 1, "aof_last_write_status": "err"}, {"redis_persistence"}),
        ({"aof_enabled": 0, "aof_last_write_status": "ok"}, {"redis_persistence"}),
        (
            {"maxmemory": 100, "used_memory": 100, "maxmemory_policy": "noeviction"},
            {"redis_memory"},
        ),
        ({"maxmemory": 100, "maxmemory_policy": "allkeys-lru"}, {"redis_eviction"}),
        ({"cluster_enabled": 0}, set()),
        ({"cluster_enabled": 1}, {"redis_cluster"}),
        ({"maxmemory": 0, "used_memory": 100, "maxmemory_policy": "allkeys-lru"}, set()),
    ],
)
def test_what_redis_says_of_itself_is_judged(about: dict[str, Any], alarms: set[str]) -> None:
    """Some of it no server can be brought to say in a test."""
    assert set(server_alarms(about)) == alarms


@pytest.mark.parametrize(
    ("backlog", "age_s", "dead", "alarms"),
    [
        (0, 0.0, 0, set()),
        (100_000, 60.0, 0, set()),
        (100_001, 0.0, 0, {"backlog"}),
        (1, 60.1, 0, {"backlog"}),
        (0, 0.0, 1, {"dead"}),
    ],
)
def test_what_waits_too_long_or_is_too_much_is_an_alarm(
    backlog: int, age_s: float, dead: int, alarms: set[str]
) -> None:
    assert set(_backlog_alarms(backlog, age_s, dead)) == alarms


def test_a_price_file_that_was_not_taken_is_an_alarm(redis: "Redis", tmp_path: Path) -> None:
    disk = DiskAlarms(tmp_path / "spool")
    found = Alarms(redis, disk, price_fault=lambda: "own.toml: model must be a glob").check()
    assert "own.toml: model must be a glob" in found.alarms["prices"]
    assert "prices" not in Alarms(redis, disk).check().alarms
