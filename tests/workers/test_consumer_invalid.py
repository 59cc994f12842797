"""Entries that the consumer cannot post: they become dead letters and block nothing."""

import json
from typing import Any

import pytest
import sqlalchemy as sa
from redis import Redis
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reconcile import day_ranges, differences
from app.storage.sql.tables import entries, rollups
from app.storage.sql.transactions import reading
from app.usage.messages.event import UsageEvent
from app.usage.redis.stream import EventStream
from app.vocabulary.text import TEXT_LIMIT
from tests.support.events import usage_event
from tests.workers.contents import event_ids, publish, waiting
from workers.consumer import PostReport, consume


def rejected(redis: "Redis") -> list[tuple[bytes, bytes]]:
    """The dead letters: bytes and reason."""
    dead: Any = redis.xrange("usage:dead")
    return [(record[b"event"], record[b"reason"]) for _, record in dead]


def raw_event(**changes: Any) -> bytes:
    """An event as another program might write it."""
    return json.dumps(json.loads(usage_event().encode()) | changes).encode()


def without(name: str) -> bytes:
    """An event that lacks a field."""
    written = json.loads(usage_event().encode())
    del written[name]
    return json.dumps(written).encode()


POISON: list[tuple[dict[str, bytes], bytes]] = [
    ({"event": b"\xff\0not json"}, b"not JSON"),
    ({"event": b""}, b"not JSON"),
    ({"event": b"[]"}, b"not a JSON object"),
    ({"event": without("account_id")}, b"account_id is missing"),
    ({"event": raw_event(status="Not a word")}, b"status is of a wrong type or out of range"),
    ({"event": raw_event(total_tokens=2**63)}, b"total_tokens is of a wrong type or out of range"),
    ({"event": raw_event(user="u" * 100_000)}, b"user is of a wrong type or out of range"),
    ({"event": raw_event(model="a\0b")}, b"model is of a wrong type or out of range"),
    ({"other": b"x"}, b"no event: deleted while pending, or written by another program"),
]


#: Fields that the version before did not write.
LATER = {
    "prompt_source",
    "completion_source",
    "service_tier",
    "calls",
    "error_code",
    "error_message",
    "attempt_log",
}


def test_events_of_the_version_before_and_of_a_later_one_are_posted(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    written = json.loads(usage_event(event_id="e1").encode())
    before = {name: value for name, value in written.items() if name not in LATER}
    later = written | {"event_id": "e2", "status": "paused", "source": "sampled", "new": [1]}
    for fields in (before, later):
        redis.xadd("usage:events", {"event": json.dumps(fields), "new": "x"})
    assert consume(stream, ledger, consumer="a") == PostReport(posted=2)
    with reading(ledger.engine) as connection:
        found = connection.execute(sa.select(entries).order_by(entries.c.event_id)).all()
        (sums,) = connection.execute(sa.select(rollups)).all()
    assert [(row.status, row.source, row.prompt_source) for row in found] == [
        ("completed", "vendor", "vendor"),
        ("paused", "sampled", "vendor"),
    ]
    assert (sums.total_tokens, sums.failed_requests, sums.estimated_requests) == (10, 0, 1)
    assert [it for s in day_ranges(ledger.engine) for it in differences(ledger.engine, s)] == []


@pytest.mark.parametrize(("record", "reason"), POISON)
def test_an_invalid_entry_becomes_a_dead_letter_and_blocks_nothing(
    stream: EventStream, ledger: Ledger, redis: "Redis", record: dict[str, bytes], reason: bytes
) -> None:
    before = publish(stream, 2)
    redis.xadd("usage:events", record)  # type: ignore[arg-type]
    after = publish(stream, 2)
    assert consume(stream, ledger, consumer="a") == PostReport(posted=4, dead_lettered=1)
    assert event_ids(ledger.engine) == sorted(before + after)
    assert rejected(redis) == [(record.get("event", b""), reason)]
    assert waiting(redis) == (0, 0)


def test_an_entry_deleted_while_pending_is_counted_and_blocks_nothing(
    stream: EventStream, ledger: Ledger, redis: "Redis"
) -> None:
    published = publish(stream, 3)
    deleted = stream.claim_new("dead", 3)[1]
    published.remove(UsageEvent.decode(deleted.raw or b"").event_id)
    redis.xdel("usage:events", deleted.entry_id)
    assert consume(stream, ledger, consumer="alive") == PostReport(posted=2, dead_lettered=1)
    assert event_ids(ledger.engine) == published
    assert redis.xrange("usage:dead")[0][1][b"entry_id"] == deleted.entry_id.encode()  # type: ignore[index]
    assert waiting(redis) == (0, 0)


def test_a_user_of_100_kb_is_posted(stream: EventStream, ledger: Ledger) -> None:
    stream.publish(usage_event(user="u" * 100_000))
    assert consume(stream, ledger, consumer="a") == PostReport(posted=1)
    with ledger.engine.connect() as connection:
        assert connection.scalar(sa.text('SELECT length("user") FROM entries')) == TEXT_LIMIT


@pytest.mark.parametrize("bad_at", [{0}, {6}, {3, 4}, {0, 1, 2, 3, 4, 5, 6}])
def test_of_a_batch_that_the_ledger_rejects_only_the_bad_events_are_dead_lettered(
    stream: EventStream, rejecting_engine: Engine, redis: "Redis", bad_at: set[int]
) -> None:
    events = [usage_event(model="bad" if number in bad_at else "good") for number in range(7)]
    for event in events:
        stream.publish(event)
    report = consume(stream, Ledger(rejecting_engine), consumer="a")
    assert report == PostReport(posted=7 - len(bad_at), dead_lettered=len(bad_at))
    assert event_ids(rejecting_engine) == sorted(e.event_id for e in events if e.model == "good")
    assert sorted(rejected(redis)) == sorted(
        (event.encode(), b"the ledger rejects it: IntegrityError")
        for event in events
        if event.model == "bad"
    )
    assert waiting(redis) == (0, 0)
