from typing import Any

import pytest
from redis import Redis

from app.admission.numbering import Numbering
from app.storage.redis.keys import DEAD, EVENTS, OPEN, OWNER, STARTED
from app.usage.messages.event import UsageEvent
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream
from tests.support.events import usage_event


@pytest.fixture
def records(redis: "Redis") -> OpenRecords:
    return OpenRecords(redis)


def test_an_open_record_stays_until_its_event_is_published(
    records: OpenRecords, redis: "Redis"
) -> None:
    records.reopen("e1", b'{"a":1}', "", 0)
    records.reopen("e2", b"\xff\0", "", 0)
    assert records.all() == {"e1": b'{"a":1}', "e2": b"\xff\0"}
    EventStream(redis).publish(usage_event(event_id="e1"))
    assert records.all() == {"e2": b"\xff\0"}
    assert records.count() == 1


def test_a_request_of_the_version_before_counts_as_started_until_the_ledger_has_it(
    records: OpenRecords, redis: "Redis"
) -> None:
    stream, event = EventStream(redis), usage_event()
    assert records.oldest_started_ms() is None
    redis.zadd(STARTED, {event.event_id: 1_000, "younger": 2_000})
    stream.publish(event)
    (entry,) = stream.claim_new("worker", 10)
    assert records.oldest_started_ms() == 1_000
    stream.ack([entry.entry_id], [event.event_id])
    assert records.oldest_started_ms() == 2_000


def test_a_record_that_was_removed_does_not_come_back(records: OpenRecords) -> None:
    records.reopen("open", b"old", "", 0)
    records.update({"open": b"new", "ended": b"new"})
    records.update({})
    assert records.all() == {"open": b"new"}


def test_a_request_has_the_number_that_its_process_gave_it(records: OpenRecords) -> None:
    """Redis ran a script whose answer came too late; the process then used its spool."""
    records.reopen("e1", b'{"number":1}', "web-1", 1)
    records.reopen("e2", b'{"number":2,"attempts":1}', "web-1", 2)
    records.reopen("e1", b'{"number":2}', "web-1", 2)
    records.reopen("e2", b'{"number":2}', "web-1", 2)
    records.reopen("e3", b"nonsense", "", 0)
    records.reopen("e3", b"{}", "", 0)
    found = {"e1": b'{"number":2}', "e2": b'{"number":2,"attempts":1}', "e3": b"nonsense"}
    assert records.all() == found


def test_a_process_is_alive_while_its_sign_lasts(records: OpenRecords, redis: "Redis") -> None:
    Processes(redis).heartbeat(Numbering("one"))
    assert records.live_owners({"one", "two"}) == {"one": b"1"}
    assert records.live_owners(()) == {}
    assert 0 < redis.ttl(f"{OWNER}one") <= 30


def test_all_processes_of_weeks_are_asked_about(records: OpenRecords, redis: "Redis") -> None:
    """More than one call of a script takes as arguments."""
    names = [f"p{at}" for at in range(9_000)]
    live = {it: b"1" for it in (names[0], names[999], names[1000], names[-1])}
    for name, sign in live.items():
        redis.set(OWNER + name, sign)
    assert records.live_owners(names) == live


def test_of_two_reapers_one_makes_the_event(records: OpenRecords, redis: "Redis") -> None:
    event = usage_event(status="abandoned")
    records.reopen(event.event_id, b"{}", "", 0)
    assert [records.abandon(event), records.abandon(event)] == [True, False]
    entries: Any = redis.xrange(EVENTS)
    ((_, entry),) = entries
    assert UsageEvent.decode(entry[b"event"]) == event
    assert redis.hlen(OPEN) == 0


def test_an_undecodable_record_becomes_a_dead_letter(records: OpenRecords, redis: "Redis") -> None:
    records.reopen("e1", b"nonsense", "", 0)
    assert [
        records.dead_letter("e1", b"nonsense", "why"),
        records.dead_letter("e1", b"", "why"),
    ] == [True, False]
    entries: Any = redis.xrange(DEAD)
    ((_, entry),) = entries
    assert entry == {b"event": b"nonsense", b"reason": b"why"}


def test_start_times_of_requests_that_are_neither_open_nor_waiting_are_swept(
    records: OpenRecords, redis: "Redis"
) -> None:
    redis.zadd(STARTED, {"lost": 1_000, "open": 2_000, "young": 9_000})
    records.reopen("open", b"{}", "", 0)
    waiting = redis.xadd(EVENTS, {"event": b"x"})
    assert records.sweep(5_000) == 0  # it may be the one that waits
    redis.xdel(EVENTS, waiting)
    assert records.sweep(5_000) == 1
    assert redis.zrange(STARTED, 0, -1) == [b"open", b"young"]
