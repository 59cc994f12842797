"""When a deployment is left alone for a while, for every process, and when it is called again."""

import time

import pytest
from redis import Redis

from app.serving.circuit_breaker import (
    CACHE_S,
    FAILURE_COUNTS_S,
    FAILURE_THRESHOLD,
    FAILURES,
    OPEN_S,
    UNTIL,
    CircuitBreaker,
)
from app.storage.redis.connection import connect
from tests.support.services.full import fill
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey

#: How far clocks and machines may be off, in seconds.
SLACK_S = 5.0


def fail(rests: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        rests.record_failure("v")


def test_a_deployment_rests_at_its_tenth_failure_in_a_row_and_not_before(redis: "Redis") -> None:
    fail(CircuitBreaker(redis), FAILURE_THRESHOLD - 1)
    assert CircuitBreaker(redis).open_circuits() == frozenset()
    fail(CircuitBreaker(redis), 1)  # whichever process counts it
    assert CircuitBreaker(redis).open_circuits() == {"v"}


def test_the_numbers_are_those_of_the_documentation() -> None:
    assert (FAILURE_THRESHOLD, OPEN_S, FAILURE_COUNTS_S) == (10, 30, 300)


def test_a_rest_lasts_half_a_minute(redis: "Redis") -> None:
    before_s = time.time()
    fail(CircuitBreaker(redis), FAILURE_THRESHOLD)
    until_s = redis.zscore(UNTIL, "v")
    assert until_s is not None
    assert before_s + OPEN_S <= until_s <= time.time() + OPEN_S


def test_a_rest_that_is_over_is_none_and_one_more_failure_is_enough_for_the_next(
    redis: "Redis",
) -> None:
    fail(CircuitBreaker(redis), FAILURE_THRESHOLD)
    redis.zadd(UNTIL, {"v": time.time() - 0.001})
    assert CircuitBreaker(redis).open_circuits() == frozenset()
    fail(CircuitBreaker(redis), 1)
    assert CircuitBreaker(redis).open_circuits() == {"v"}


def test_failures_are_counted_for_a_time_after_the_last_one(redis: "Redis") -> None:
    fail(CircuitBreaker(redis), 1)
    redis.expire(FAILURES + "v", 1)
    fail(CircuitBreaker(redis), 1)
    left_s = redis.ttl(FAILURES + "v")
    assert FAILURE_COUNTS_S - SLACK_S <= left_s <= FAILURE_COUNTS_S


def test_a_success_ends_the_row_where_this_process_has_seen_a_failure_of_it(
    redis: "Redis",
) -> None:
    rests = CircuitBreaker(redis)
    fail(rests, FAILURE_THRESHOLD - 1)
    rests.record_success("v")
    assert not redis.exists(FAILURES + "v")
    fail(rests, FAILURE_THRESHOLD - 1)
    assert CircuitBreaker(redis).open_circuits() == frozenset()
    rests.record_success("other")
    assert redis.exists(FAILURES + "v")


def test_a_success_costs_redis_nothing_where_nothing_has_failed(redis: "Redis") -> None:
    rests = CircuitBreaker(redis)
    fail(CircuitBreaker(redis), 3)  # in another process
    rests.record_success("v")
    assert redis.get(FAILURES + "v") == b"3"
    fail(rests, 1)
    rests.record_success("v")
    fail(CircuitBreaker(redis), 1)
    rests.record_success("v")  # that failure was not this process's
    assert redis.get(FAILURES + "v") == b"1"


def test_deployments_rest_apart(redis: "Redis") -> None:
    fail(CircuitBreaker(redis), FAILURE_THRESHOLD)
    CircuitBreaker(redis).record_failure("w")
    assert CircuitBreaker(redis).open_circuits() == {"v"}


def test_what_others_have_found_is_known_within_a_second_and_not_asked_for_each_time(
    redis: "Redis",
) -> None:
    rests = CircuitBreaker(redis)
    assert rests.open_circuits() == frozenset()
    read_s = time.monotonic()
    fail(CircuitBreaker(redis), FAILURE_THRESHOLD)
    commands = redis.info("stats")["total_commands_processed"]
    again = [rests.open_circuits() for _ in range(20)]
    asked = redis.info("stats")["total_commands_processed"] - commands
    if time.monotonic() < read_s + CACHE_S:  # a machine may have been held up for so long
        assert again == [frozenset()] * 20
    assert asked <= 3
    wait_until(lambda: rests.open_circuits() == {"v"})
    assert time.monotonic() < read_s + CACHE_S + SLACK_S


def test_without_redis_nobody_rests_and_nothing_is_raised(
    own_valkey: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(own_valkey.url, 1.0) as redis:
        rests = CircuitBreaker(redis)
        fail(rests, FAILURE_THRESHOLD)
        assert rests.open_circuits() == {"v"}
        own_valkey.kill()
        wait_until(lambda: rests.open_circuits() == frozenset())
        rests.record_failure("v")
        rests.record_success("v")
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert len(caplog.records) >= 4


def test_a_full_redis_counts_failures_and_opens_circuits(
    own_valkey: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(own_valkey.url, 5.0) as redis:
        fill(redis)
        fail(CircuitBreaker(redis), FAILURE_THRESHOLD)
        assert CircuitBreaker(redis).open_circuits() == {"v"}
    assert "was not counted" not in caplog.text
