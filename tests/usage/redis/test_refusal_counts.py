"""Refused requests in Redis: nothing is counted twice, whichever step is repeated."""

import pytest
from redis import Redis

from app.storage.redis.connection import connect
from app.storage.redis.keys import REFUSALS, REFUSALS_OF
from app.usage.redis import refusal_counts
from app.usage.redis.refusal_counts import RefusalBatch, RefusalCounts
from app.usage.refusal import Refusal
from app.vocabulary.errors import StreamUnavailable

ONE = Refusal(3600, "acme", "key_1", "completions", "invalid_json")
TWO = ONE._replace(reason="invalid_value")


@pytest.fixture
def counts(redis: "Redis") -> RefusalCounts:
    return RefusalCounts(redis)


def test_reports_of_all_processes_are_added_up(counts: RefusalCounts) -> None:
    counts.add("a", 1, {ONE: 2})
    counts.add("b", 1, {ONE: 3, TWO: 1})
    counts.add("a", 2, {ONE: 4})
    assert counts.take("batch") == RefusalBatch("batch", {ONE: 9, TWO: 1})


def test_a_repeated_report_counts_once(counts: RefusalCounts) -> None:
    for _ in range(3):
        counts.add("a", 7, {ONE: 2})
    assert counts.take("batch") == RefusalBatch("batch", {ONE: 2})


def test_a_report_is_known_for_longer_than_an_outage_lasts(
    counts: RefusalCounts, redis: "Redis"
) -> None:
    counts.add("a", 7, {ONE: 2})
    assert int(redis.ttl(REFUSALS_OF + "a")) > 6 * 86_400


def test_a_batch_is_the_same_until_it_is_dropped(counts: RefusalCounts) -> None:
    assert counts.take("none") is None
    counts.add("a", 1, {ONE: 2})
    first = counts.take("first")
    counts.add("a", 2, {TWO: 5})
    assert counts.take("second") == first == RefusalBatch("first", {ONE: 2})
    counts.drop("second")
    assert counts.take("third") == first
    counts.drop("first")
    assert counts.take("fourth") == RefusalBatch("fourth", {TWO: 5})


def test_too_many_kinds_are_counted_as_other(
    counts: RefusalCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusal_counts, "LIMIT", 1)
    counts.add("a", 1, {ONE: 2, TWO: 3})
    counts.add("a", 2, {ONE: 1, TWO: 4})
    assert counts.take("batch") == RefusalBatch("batch", {ONE: 3, ONE.other: 7})


def test_what_a_later_version_wrote_is_left_out_and_logged(
    counts: RefusalCounts, redis: "Redis", caplog: pytest.LogCaptureFixture
) -> None:
    counts.add("a", 1, {ONE: 2})
    redis.hset(REFUSALS, "[1,2,3]", 5)
    assert counts.take("batch") == RefusalBatch("batch", {ONE: 2})
    assert "5" in caplog.text


def test_without_redis_each_step_says_so() -> None:
    counts = RefusalCounts(connect("redis://127.0.0.1:1/0", 0.1))
    with pytest.raises(StreamUnavailable):
        counts.add("a", 1, {ONE: 2})
    with pytest.raises(StreamUnavailable):
        counts.take("batch")
