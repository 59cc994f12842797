"""The dead-letter stream, on a real Valkey."""

import pytest
from redis import Redis

from app.storage.redis.connection import connect
from app.storage.redis.keys import DEAD, EVENTS
from app.usage.redis.dead_letters import AT_ONCE, DeadLetter, DeadLetterStream
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import StreamUnavailable


def dead_letter(redis: "Redis", *raws: bytes) -> list[str]:
    """Dead-letter entries as the consumer does; return their ids."""
    stream = EventStream(redis, claim_idle_ms=0)
    for raw in raws:
        redis.xadd(EVENTS, {"event": raw})
    stream.dead_letter(
        (entry, f"no: {entry.raw!r}") for entry in stream.claim_new("drain", len(raws))
    )
    return [entry.entry_id for entry in DeadLetterStream(redis).entries()]


def test_an_empty_redis_has_no_dead_entry(redis: "Redis") -> None:
    dead = DeadLetterStream(redis)
    assert (dead.count(), list(dead.entries())) == (0, [])
    assert dead.retry(["1-0"]) == dead.drop(["1-0"]) == []


def test_entries_come_whole_and_the_oldest_first(redis: "Redis") -> None:
    raws = [b"%d \xff\0" % number for number in range(AT_ONCE + 1)]
    ids = dead_letter(redis, *raws)
    found = list(DeadLetterStream(redis).entries())
    assert found == [
        DeadLetter(entry_id, raw, f"no: {raw!r}") for entry_id, raw in zip(ids, raws, strict=True)
    ]
    assert DeadLetterStream(redis).count() == len(raws)
    seconds, _ = redis.time()
    assert abs(found[0].dead_lettered_at_ms / 1000 - seconds) < 300


def test_letters_that_arrive_while_others_are_read_are_left_for_the_next_time(
    redis: "Redis",
) -> None:
    ids = dead_letter(redis, *(b"%d" % number for number in range(AT_ONCE + 1)))
    entries = DeadLetterStream(redis).entries()
    first = next(entries)
    redis.xadd(DEAD, {"event": b"late", "reason": "no"})
    assert [first.entry_id, *(entry.entry_id for entry in entries)] == ids


def test_entries_may_be_dropped_while_they_are_read(redis: "Redis") -> None:
    ids = dead_letter(redis, *(b"%d" % number for number in range(AT_ONCE * 2 + 1)))
    dead = DeadLetterStream(redis)
    assert [e.entry_id for e in dead.entries() if dead.drop([e.entry_id])] == ids
    assert dead.count() == 0


def test_a_retried_entry_is_back_on_the_stream_as_it_was(redis: "Redis") -> None:
    first, second, third = dead_letter(redis, b"\xff\0 one", b"two", b"")
    dead = DeadLetterStream(redis)
    assert dead.retry([third, first, "1-0", first]) == [third, first]
    assert [entry.entry_id for entry in dead.entries()] == [second]
    stream = EventStream(redis)
    assert [entry.raw for entry in stream.claim_new("drain", 10)] == [b"", b"\xff\0 one"]


def test_a_dropped_entry_is_nowhere(redis: "Redis") -> None:
    first, second = dead_letter(redis, b"one", b"two")
    dead = DeadLetterStream(redis)
    assert dead.drop([first, "1-0"]) == [first]
    assert [entry.entry_id for entry in dead.entries()] == [second]
    assert redis.xlen(EVENTS) == 0


def test_without_redis_nothing_is_known() -> None:
    dead = DeadLetterStream(connect("redis://127.0.0.1:1/0", 10.0))
    for ask in (dead.count, lambda: list(dead.entries()), lambda: dead.retry(["1-0"])):
        with pytest.raises(StreamUnavailable):
            ask()
