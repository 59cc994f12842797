"""Refused requests on their way from Redis to the ledger, with a crash after each step."""

from redis import Redis
from sqlalchemy import Engine

from app.ledger.refusals import post_refusals
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.refusals import RefusalReader
from app.usage.redis.refusal_counts import RefusalCounts
from app.usage.refusal import Refusal
from workers.refusals import move_refusals

ONE = Refusal(3600, "acme", "key_1", "completions", "invalid_json")


def total(engine: Engine) -> int:
    return sum(row.requests for row in RefusalReader(engine).rows(UsageQuery(0, 7200)))


def test_what_waits_is_posted_once(redis: "Redis", engine: Engine) -> None:
    counts = RefusalCounts(redis)
    assert move_refusals(counts, engine) == 0
    counts.add("a", 1, {ONE: 2})
    assert move_refusals(counts, engine) == 2
    assert move_refusals(counts, engine) == 0
    assert total(engine) == 2


def test_a_worker_that_crashed_after_it_took_a_batch_loses_nothing(
    redis: "Redis", engine: Engine
) -> None:
    counts = RefusalCounts(redis)
    counts.add("a", 1, {ONE: 2})
    counts.take("crashed")
    counts.add("a", 2, {ONE: 3})
    assert [move_refusals(counts, engine) for _ in range(3)] == [2, 3, 0]


def test_a_worker_that_crashed_after_the_commit_counts_nothing_twice(
    redis: "Redis", engine: Engine
) -> None:
    counts = RefusalCounts(redis)
    counts.add("a", 1, {ONE: 2})
    batch = counts.take("crashed")
    assert batch is not None
    post_refusals(engine, batch.batch_id, batch.counts, 2**41)
    assert move_refusals(counts, engine) == 0
    assert total(engine) == 2
    assert counts.take("next") is None
