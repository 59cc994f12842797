"""The stream, on a real Valkey."""

from typing import Any

import pytest
from redis import Redis

from app.storage.redis.connection import connect
from app.usage.messages.event import UsageEvent
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import AT_ONCE, EventStream, StreamEntry
from app.vocabulary.errors import StreamUnavailable
from tests.support.events import usage_event
from tests.support.services.valkey import Valkey


@pytest.fixture
def stream(redis: "Redis") -> EventStream:
    """An empty stream on which a claim is left over at once."""
    return EventStream(redis, claim_idle_ms=0)


@pytest.fixture
def patient(redis: "Redis") -> EventStream:
    """The same stream, on which a claim is not left over as long as a test takes."""
    return EventStream(redis, claim_idle_ms=3_600_000)


def ids(entries: list[StreamEntry]) -> list[str]:
    """The events' ids."""
    return [UsageEvent.decode(entry.raw or b"").event_id for entry in entries]


def publish(stream: EventStream, count: int) -> list[str]:
    """Publish events; return their ids."""
    events = [usage_event() for _ in range(count)]
    for event in events:
        stream.publish(event)
    return [event.event_id for event in events]


def pending(redis: "Redis") -> int:
    """How many entries are claimed and not acknowledged."""
    return int(redis.xpending("usage:events", "drain")["pending"])


def test_a_claim_returns_each_event_once_and_in_order(patient: EventStream) -> None:
    published = publish(patient, 5)
    first, second = patient.claim_new("a", 3), patient.claim_new("b", 3)
    assert ids(first) + ids(second) == published
    assert patient.claim_new("a", 3) == patient.claim_new("b", 3) == []


def test_claiming_from_a_redis_that_never_saw_an_event_returns_nothing(stream: EventStream) -> None:
    assert stream.claim_new("a", 10) == []
    published = publish(stream, 1)
    assert ids(stream.claim_new("a", 10)) == published


def test_events_published_before_the_first_claim_are_claimed(stream: EventStream) -> None:
    published = publish(stream, 3)
    assert ids(stream.claim_new("a", 10)) == published


def test_acknowledged_entries_leave_the_stream_and_the_pending_list(
    patient: EventStream, redis: "Redis"
) -> None:
    publish(patient, 3)
    entries = patient.claim_new("a", 2)
    assert (patient.backlog(), pending(redis)) == (3, 2)
    patient.ack([entry.entry_id for entry in entries])
    assert (patient.backlog(), pending(redis)) == (1, 0)
    assert patient.posted() == 2


def test_acknowledging_nothing_or_twice_is_no_error(stream: EventStream) -> None:
    publish(stream, 1)
    [entry] = stream.claim_new("a", 1)
    stream.ack([])
    stream.ack([entry.entry_id])
    stream.ack([entry.entry_id])
    assert stream.backlog() == 0


def test_entries_of_a_dead_consumer_are_claimed_once_they_are_idle_long_enough(
    patient: EventStream, stream: EventStream, redis: "Redis"
) -> None:
    left = publish(patient, 2)
    patient.claim_new("dead", 2)
    new = publish(patient, 1)
    assert patient.claim_left_over("alive", 10) == []  # not idle long enough
    assert ids(patient.claim_new("alive", 10)) == new
    assert ids(stream.claim_left_over("alive", 10)) == left + new
    assert redis.xpending("usage:events", "drain")["consumers"] == [
        {"name": b"alive", "pending": 3}
    ]


def test_left_overs_behind_many_fresh_claims_are_found(redis: "Redis") -> None:
    """XAUTOCLAIM looks at ten times COUNT pending entries a call, then hands out a cursor."""
    stream = EventStream(redis, claim_idle_ms=60_000)
    published = publish(stream, 50)
    entries = stream.claim_new("dead", 50)
    redis.xclaim("usage:events", "drain", "dead", 0, [entries[-1].entry_id], idle=120_000)
    assert ids(stream.claim_left_over("alive", 1)) == published[-1:]


def test_a_flushed_redis_is_claimed_from_again(stream: EventStream, redis: "Redis") -> None:
    publish(stream, 1)
    assert len(stream.claim_new("a", 10)) == 1
    redis.flushall()
    assert stream.claim_new("a", 10) == []
    redis.flushall()
    published = publish(stream, 2)
    assert ids(stream.claim_new("a", 10)) == published


def test_an_entry_deleted_while_pending_is_reported_without_an_event(
    stream: EventStream, redis: "Redis"
) -> None:
    published = publish(stream, 3)
    entries = EventStream(redis).claim_new("dead", 3)
    redis.xdel("usage:events", entries[1].entry_id)
    left_over = sorted(stream.claim_left_over("alive", 10), key=lambda entry: entry.entry_id)
    assert left_over[1] == StreamEntry(entries[1].entry_id, None, is_deleted=True)
    assert ids([left_over[0], left_over[2]]) == [published[0], published[2]]
    assert pending(redis) == 2


def test_a_stream_trimmed_by_others_is_no_crash(stream: EventStream, redis: "Redis") -> None:
    publish(stream, 3)
    EventStream(redis).claim_new("dead", 3)
    redis.xtrim("usage:events", maxlen=0)
    assert [entry.raw for entry in stream.claim_left_over("alive", 10)] == [None] * 3
    assert stream.claim_left_over("alive", 10) == []


def test_an_entry_without_an_event_field_is_reported_without_an_event(
    stream: EventStream, redis: "Redis"
) -> None:
    redis.xadd("usage:events", {"other": "x"})
    assert [entry.raw for entry in stream.claim_new("a", 10)] == [None]


def test_dead_letters_have_their_reason_and_leave_the_stream(
    patient: EventStream, redis: "Redis"
) -> None:
    raw = b"\xffnot json\0"
    redis.xadd("usage:events", {"event": raw})
    redis.xadd("usage:events", {"other": "x"})
    broken, empty = patient.claim_new("a", 10)
    patient.dead_letter([(broken, "not JSON"), (empty, "no event")])
    assert [record for _, record in redis.xrange("usage:dead") or ()] == [
        {b"event": raw, b"reason": b"not JSON", b"entry_id": broken.entry_id.encode()},
        {b"event": b"", b"reason": b"no event", b"entry_id": empty.entry_id.encode()},
    ]
    assert (patient.dead_count(), patient.backlog(), pending(redis)) == (2, 0, 0)


def test_an_entry_that_two_consumers_reject_becomes_one_dead_letter(
    stream: EventStream, redis: "Redis"
) -> None:
    redis.xadd("usage:events", {"event": b"not JSON"})
    slow, quick = stream.claim_new("slow", 1), stream.claim_left_over("quick", 1)
    for claimed in (quick, slow):
        stream.dead_letter([(claimed[0], "not JSON")])
    assert (stream.dead_count(), stream.backlog(), pending(redis)) == (1, 0, 0)


def test_the_oldest_event_is_the_first_that_waits(stream: EventStream, redis: "Redis") -> None:
    assert stream.oldest_ms() is None
    redis.xadd("usage:events", {"event": b"x"}, id="1780000000123-4")
    redis.xadd("usage:events", {"event": b"x"}, id="1780000000999-0")
    assert stream.oldest_ms() == 1_780_000_000_123
    stream.ack([stream.claim_new("a", 1)[0].entry_id])
    assert stream.oldest_ms() == 1_780_000_000_999


def test_only_idle_consumers_with_nothing_pending_are_forgotten(
    patient: EventStream, redis: "Redis"
) -> None:
    publish(patient, 1)
    patient.claim_new("busy", 1)
    patient.claim_new("done", 1)
    assert patient.forget_idle_consumers() == 0
    assert patient.forget_idle_consumers(idle_ms=0) == 1
    assert [c["name"] for c in redis.xinfo_consumers("usage:events", "drain")] == [b"busy"]
    assert pending(redis) == 1


def test_forgetting_consumers_of_an_empty_redis_is_no_error(stream: EventStream) -> None:
    assert stream.forget_idle_consumers(idle_ms=0) == 0


def test_a_client_works_again_after_a_restart(own_valkey: Valkey) -> None:
    with connect(own_valkey.url, timeout_s=10.0) as client:
        stream = EventStream(client)
        stream.publish(usage_event())
        own_valkey.stop()
        with pytest.raises(StreamUnavailable):
            stream.backlog()
        own_valkey.start()
        assert len(stream.claim_new("a", 9)) == 1
        own_valkey.kill()
        own_valkey.start()
        stream.publish(usage_event())  # the pooled connection is dead, and the pool does not know
        assert stream.backlog() == 2


def test_a_full_redis_publishes_neither_event_nor_removes_the_open_record(
    own_valkey: Valkey,
) -> None:
    with connect(own_valkey.url, timeout_s=10.0) as client:
        stream, records = EventStream(client), OpenRecords(client)
        records.reopen("e1", b"record", "", 0)
        client.config_set("maxmemory", 1)
        with pytest.raises(StreamUnavailable, match="OutOfMemoryError"):
            stream.publish(usage_event(event_id="e1"))
        client.config_set("maxmemory", 0)
        assert (records.count(), stream.backlog()) == (1, 0)


def test_a_paused_redis_is_given_up(own_valkey: Valkey) -> None:
    with connect(own_valkey.url, timeout_s=1.0) as client:
        stream = EventStream(client)
        own_valkey.pause()
        with pytest.raises(StreamUnavailable, match="TimeoutError"):
            stream.publish(usage_event())
        own_valkey.resume()


@pytest.mark.parametrize("limit", [1, AT_ONCE, AT_ONCE + 1, 2 * AT_ONCE - 1])
def test_no_more_is_claimed_than_asked_for(stream: EventStream, redis: "Redis", limit: int) -> None:
    with redis.pipeline() as pipe:
        for _ in range(2 * AT_ONCE + 10):
            pipe.xadd("usage:events", {"event": b"x"})
        pipe.execute()
    assert len(stream.claim_new("one", limit)) == limit
    assert pending(redis) == limit


def test_each_of_the_three_waits_has_the_time_that_is_set() -> None:
    with connect("redis://127.0.0.1:1/0", 0.25) as client:
        pool: Any = client.connection_pool
    assert pool.timeout == 0.25
    assert pool.connection_kwargs["socket_timeout"] == 0.25
    assert pool.connection_kwargs["socket_connect_timeout"] == 0.25
