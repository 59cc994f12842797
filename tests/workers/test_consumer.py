"""The consumer, from a real Valkey into real databases."""

from collections.abc import Iterable, Mapping
from threading import Thread

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis
from sqlalchemy import Engine

from app.ledger.posting import NOT_CHARGED, Ledger
from app.storage.redis.connection import connect
from app.storage.redis.keys import STARTED
from app.usage.messages.event import UsageEvent
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import LedgerUnavailable, StreamUnavailable
from tests.support.events import usage_event
from tests.support.processes import run_all
from tests.workers.contents import event_ids, publish, rolled_up, waiting
from workers.consumer import PostReport, consume


class Crash(BaseException):
    """The process crashes here."""


class DiesAfterCommit(Ledger):
    """A ledger whose process crashes after the commit, before the acknowledgement."""

    __slots__ = ()

    def post(self, events: Iterable[UsageEvent], charged: Mapping[str, int] = NOT_CHARGED) -> int:
        """Post, and crash."""
        super().post(events, charged)
        raise Crash


class DiesBeforeCommit(Ledger):
    """A ledger whose process crashes before it writes anything."""

    __slots__ = ()

    def post(self, *_: object) -> int:
        """Crash."""
        raise Crash


class HasFault(Ledger):
    """A ledger with a programming error."""

    __slots__ = ()

    def post(self, *_: object) -> int:
        """Fail."""
        raise TypeError("a fault of ours")


def test_everything_published_is_posted_once_and_leaves_the_stream(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    published = publish(stream, 25)
    report = consume(stream, ledger, consumer="a", limit=10)
    assert report == PostReport(posted=25)
    assert event_ids(ledger.engine) == published
    assert rolled_up(ledger.engine) == 25
    assert waiting(redis) == (0, 0)
    assert consume(stream, ledger, consumer="a") == PostReport()


def test_an_empty_redis_posts_nothing(stream: EventStream, ledger: Ledger) -> None:
    assert consume(stream, ledger, consumer="a") == PostReport()


def test_a_run_ends_when_its_time_is_over_and_leaves_the_rest_unclaimed(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    publish(stream, 5)
    assert consume(stream, ledger, consumer="a", limit=2, time_budget_s=0) == PostReport(posted=2)
    assert waiting(redis) == (3, 0)


def test_an_event_on_the_stream_twice_is_posted_once(stream: EventStream, ledger: Ledger) -> None:
    event = usage_event()
    stream.publish(event)
    stream.publish(event)
    assert consume(stream, ledger, consumer="a") == PostReport(posted=1, repeated=1)
    assert rolled_up(ledger.engine) == 1


def test_a_crash_between_commit_and_ack_costs_a_repeat_and_nothing_else(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    published = publish(stream, 20)
    with pytest.raises(Crash):
        consume(stream, DiesAfterCommit(ledger.engine), consumer="dead", limit=10)
    assert waiting(redis) == (20, 10)
    assert consume(stream, ledger, consumer="alive") == PostReport(posted=10, repeated=10)
    assert event_ids(ledger.engine) == published
    assert rolled_up(ledger.engine) == 20
    assert waiting(redis) == (0, 0)


def test_a_crash_before_the_commit_costs_nothing(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    published = publish(stream, 20)
    with pytest.raises(Crash):
        consume(stream, DiesBeforeCommit(ledger.engine), consumer="dead", limit=10)
    assert consume(stream, ledger, consumer="alive") == PostReport(posted=20)
    assert event_ids(ledger.engine) == published
    assert waiting(redis) == (0, 0)


def test_an_unavailable_ledger_leaves_everything_in_the_stream(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    published = publish(stream, 3)
    rename(ledger.engine, "entries", "entries_away")
    with pytest.raises(LedgerUnavailable):
        consume(stream, ledger, consumer="a")
    assert (stream.backlog(), stream.dead_count()) == (3, 0)
    rename(ledger.engine, "entries_away", "entries")
    assert consume(stream, ledger, consumer="a") == PostReport(posted=3)
    assert event_ids(ledger.engine) == published
    assert waiting(redis) == (0, 0)


def rename(engine: Engine, table: str, name: str) -> None:
    """Rename a table."""
    with engine.begin() as connection:
        connection.execute(sa.text(f"ALTER TABLE {table} RENAME TO {name}"))


def test_an_unavailable_redis_is_reported(ledger: Ledger) -> None:
    with (
        connect("redis://127.0.0.1:1/0", timeout_s=5.0) as client,  # nothing listens there
        pytest.raises(StreamUnavailable),
    ):
        consume(EventStream(client), ledger, consumer="a")


def test_a_fault_of_ours_buries_no_event(stream: EventStream, ledger: Ledger) -> None:
    publish(stream, 3)
    with pytest.raises(TypeError):
        consume(stream, HasFault(ledger.engine), consumer="a")
    assert (stream.backlog(), stream.dead_count()) == (3, 0)


def test_a_redis_flushed_between_two_runs_is_consumed_again(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    first = publish(stream, 2)
    consume(stream, ledger, consumer="a")
    redis.flushall()
    second = publish(stream, 2)
    assert consume(stream, ledger, consumer="a") == PostReport(posted=2)
    assert event_ids(ledger.engine) == sorted(first + second)


def test_what_a_dead_consumer_claimed_is_posted_by_another(
    stream: EventStream, ledger: Ledger
) -> None:
    published = publish(stream, 5)
    stream.claim_new("dead", 3)
    assert consume(stream, ledger, consumer="alive", limit=2) == PostReport(posted=5)
    assert event_ids(ledger.engine) == published


def test_concurrent_consumers_post_each_event_once(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    """On a stream that takes every claim for left over, so that they fight for the same entries."""
    published = publish(stream, 600)
    reports: list[PostReport] = []

    def work(consumer: str) -> None:
        report = consume(stream, ledger, consumer=consumer, limit=20, time_budget_s=120)
        reports.append(report)

    run_all(Thread(target=work, args=(f"c{number}",)) for number in range(4))
    assert sum(report.posted for report in reports) == 600
    assert event_ids(ledger.engine) == published
    assert rolled_up(ledger.engine) == 600
    assert waiting(redis) == (0, 0)


EVENTS = [usage_event(event_id=f"e{number}") for number in range(4)]


ENTRIES = st.sampled_from([*(event.encode() for event in EVENTS), b"poison"])


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(raws=st.lists(ENTRIES, max_size=12), limit=st.integers(1, 5), crashed=st.integers(0, 12))
def test_whatever_comes_in_whatever_batches_each_good_event_is_posted_once(
    redis: "Redis", sqlite_ledger: Ledger, raws: list[bytes], limit: int, crashed: int
) -> None:
    stream = EventStream(redis, claim_idle_ms=0)
    redis.flushall()
    with sqlite_ledger.engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM entries"))
        connection.execute(sa.text("DELETE FROM rollups"))
    for raw in raws:
        redis.xadd("usage:events", {"event": raw})
    if crashed:
        stream.claim_new("dead", crashed)
    report = consume(stream, sqlite_ledger, consumer="alive", limit=limit, time_budget_s=120)
    good = [raw for raw in raws if raw != b"poison"]
    expected = sorted({UsageEvent.decode(raw).event_id for raw in good})
    assert event_ids(sqlite_ledger.engine) == expected
    assert rolled_up(sqlite_ledger.engine) == len(expected)
    assert report == PostReport(
        posted=len(expected),
        repeated=len(good) - len(expected),
        dead_lettered=len(raws) - len(good),
    )
    assert waiting(redis) == (0, 0)


def test_what_is_posted_is_waited_for_no_longer(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    """Those of the version before. Else usage would seem complete until the first one ever."""
    records = OpenRecords(redis)
    for number in range(3):
        event = usage_event(started_at_ms=1_780_000_000_000 + number)
        redis.zadd(STARTED, {event.event_id: event.started_at_ms})
        if number < 2:
            stream.publish(event)
    consume(stream, ledger, consumer="here", limit=1)
    assert records.oldest_started_ms() == 1_780_000_000_002
    stream.publish(event)
    consume(stream, ledger, consumer="here")
    assert records.oldest_started_ms() is None
