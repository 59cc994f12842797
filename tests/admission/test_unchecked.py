"""Requests whose limits were not checked: counted, reported to all processes, and forgotten."""

from collections.abc import Iterator

import pytest
from redis import Redis

from app.admission.unchecked import RECENT_S, UncheckedRequests
from app.storage.redis.connection import connect
from app.storage.redis.keys import UNCHECKED
from app.vocabulary.errors import StreamUnavailable
from tests.support.services.full import fill
from tests.support.services.valkey import Valkey


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


@pytest.fixture
def other(redis_url: str) -> Iterator[UncheckedRequests]:
    """The counts of another process."""
    with Redis.from_url(redis_url) as redis:
        yield UncheckedRequests(redis)


def test_a_process_knows_its_own_at_once_and_others_once_they_are_reported(
    redis: "Redis", other: UncheckedRequests
) -> None:
    counted: list[str] = []
    mine = UncheckedRequests(redis, counted.append)
    assert mine.recent() == {}
    mine.report()
    assert redis.exists(UNCHECKED) == 0
    for reason in ("redis_down", "redis_down", "ledger_unknown"):
        mine.count(reason)
    assert counted == ["redis_down", "redis_down", "ledger_unknown"]
    assert mine.recent() == {"redis_down": 2, "ledger_unknown": 1}
    assert other.recent() == {}
    for _ in range(2):
        mine.report()
        assert mine.recent() == other.recent() == {"redis_down": 2, "ledger_unknown": 1}
    other.count("redis_down")
    other.report()
    assert mine.recent() == {"redis_down": 3, "ledger_unknown": 1}


def test_they_are_forgotten_a_while_after_the_last_one(
    redis: "Redis", other: UncheckedRequests
) -> None:
    other.count("redis_down")
    other.report()
    assert RECENT_S - 60 < int(redis.ttl(UNCHECKED)) <= RECENT_S
    redis.expire(UNCHECKED, 1)
    other.count("redis_down")
    other.report()
    assert int(redis.ttl(UNCHECKED)) > RECENT_S - 60
    redis.delete(UNCHECKED)
    assert other.recent() == {}


def test_without_redis_a_process_keeps_its_own(own_valkey: Valkey) -> None:
    with connect(own_valkey.url, 5.0) as redis:
        mine = UncheckedRequests(redis)
        mine.count("redis_timeout")
        own_valkey.kill()
        with pytest.raises(StreamUnavailable):
            mine.report()
        assert mine.recent() == {"redis_timeout": 1}
        own_valkey.start()
        mine.report()
        assert mine.recent() == {"redis_timeout": 1}
        assert redis.hgetall(UNCHECKED) == {b"redis_timeout": b"1"}


def test_a_full_redis_takes_the_report(redis: "Redis", other: UncheckedRequests) -> None:
    fill(redis)
    other.count("redis_full")
    other.report()
    assert redis.hgetall(UNCHECKED) == {b"redis_full": b"1"}
