"""Usage on its way: open records, heartbeats, events, dead letters, the spool."""

import os
from pathlib import Path
from typing import Any

from app.ledger.posting import Ledger
from app.usage.messages.open_record import OpenRecord
from app.usage.redis.dead_letters import DeadLetterStream
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from tests.rolling.exchange.apart import SpoolFallback, adopt, heartbeat, open_record
from tests.rolling.exchange.samples import (
    COUNTS,
    DEAD_OWNER,
    RECORD,
    Parts,
    engine,
    entry,
    event,
    known,
    new_id,
    prices,
    record,
    redis,
    surplus,
    waiting,
)
from workers.consumer import consume
from workers.reaper import reap

#: Spools that this process holds.
KEPT: list[Any] = []


def open_request(opened: OpenRecord) -> None:
    """Write an open record."""
    open_record(opened.event_id, opened.encode(), opened.started_at_ms)


def posted(stream: EventStream) -> dict[str, Any]:
    """Consume the stream; return how many were posted, and what is left in Redis."""
    report = consume(stream, Ledger(engine(), prices()), consumer="reader")
    left = {"backlog": stream.backlog(), "started": redis().zcard("usage:started")}
    return {"posted": report.posted, **left, "dead": stream.dead_count()}


def write_open_record() -> None:
    """The record of a request whose process crashes before the first checkpoint."""
    open_request(record("e1", prompt_chars=100))


def read_open_record(_: Any) -> Any:
    reap(OpenRecords(redis()))
    names = ("status", "source", "prompt_tokens", "completion_tokens", *RECORD)
    return [known(it, *names) for it in waiting()]


def write_checkpoint() -> None:
    """The same after a checkpoint."""
    open_request(record("e1", prompt_chars=100))
    counted = {name: count for name, count in COUNTS.items() if name != "total_tokens"}
    sides = {"prompt_source": "vendor", "completion_source": "estimated"}
    later = record("e1", **counted, **sides, service_tier="flex", attempts=2, duration_ms=90)
    OpenRecords(redis()).update({"e1": later.encode(), "e2": later.encode()})


def read_checkpoint(_: Any) -> Any:
    reap(OpenRecords(redis()))
    return [known(it) for it in waiting()]


def write_heartbeat() -> None:
    """The record of a process that is live."""
    heartbeat("host-3-live")
    open_request(record("e1", owner="host-3-live"))


def read_heartbeat(_: Any) -> Any:
    return [reap(OpenRecords(redis())), redis().hlen("usage:open")]


def write_event() -> str:
    """An event with all that one may have, from the stream to the ledger."""
    event_id = new_id()
    open_request(record(event_id))
    EventStream(redis()).publish(event(event_id))
    return event_id


def read_event(told: Any) -> Any:
    found = [known(it) for it in waiting()]
    calls = [it["calls"] for it in waiting()]
    report = posted(EventStream(redis()))
    return [found, calls, report, known(entry(told)), surplus()]


def write_claimed_entry() -> None:
    """An entry that a worker has claimed before it crashed."""
    stream = EventStream(redis())
    stream.publish(event(new_id()))
    stream.claim_new("writer", 10)


def read_claimed_entry(_: Any) -> Any:
    return posted(EventStream(redis(), claim_idle_ms=0))


def write_dead_letter() -> None:
    """A dead letter, which the reader retries."""
    stream = EventStream(redis())
    stream.publish(event(new_id()))
    (found,) = stream.claim_new("writer", 10)
    stream.dead_letter([(found, "for a test")])


def read_dead_letter(_: Any) -> Any:
    letters = DeadLetterStream(redis())
    found = list(letters.entries())
    letters.retry([it.entry_id for it in found])
    return [[it.reason for it in found], posted(EventStream(redis()))]


def write_spool() -> str:
    """The spool of a process that crashed: a request under way and an event, and a torn line."""
    directory = Path(os.environ["SPOOL"]) / new_id()
    if (child := os.fork()) == 0:
        spool = SpoolFallback(directory, DEAD_OWNER)
        spool.write("open", record("e1").encode())
        spool.write("open", record("e2").encode())
        spool.write("event", event("e2").encode())
        os._exit(0)
    os.waitpid(child, 0)
    return str(directory)


def read_spool(told: Any) -> Any:
    directory = Path(told)
    adopt(directory, "host-5-me")
    opened = OpenRecords(redis()).all()
    events = [it["event_id"] for it in waiting()]
    return [sorted(opened), events, [it.name for it in directory.iterdir()]]


def write_live_spool() -> str:
    """The spool of a process that is live: nobody else may adopt it."""
    directory = Path(os.environ["SPOOL"]) / new_id()
    KEPT.append(SpoolFallback(directory, "host-6-live"))
    KEPT[-1].write("event", event("e2").encode())
    return str(directory)


def read_live_spool(told: Any) -> Any:
    read_spool(told)
    return [len(waiting()), len(list(Path(told).iterdir()))]


PARTS: Parts = {
    "open record": (write_open_record, read_open_record),
    "checkpoint": (write_checkpoint, read_checkpoint),
    "heartbeat": (write_heartbeat, read_heartbeat),
    "event": (write_event, read_event),
    "claimed entry": (write_claimed_entry, read_claimed_entry),
    "dead letter": (write_dead_letter, read_dead_letter),
    "spool": (write_spool, read_spool),
    "live spool": (write_live_spool, read_live_spool),
}
