"""The status of usage in a real Valkey."""

from redis import Redis

from app.admission.numbering import Numbering
from app.storage.redis.connection import connect
from app.storage.redis.keys import DEAD
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.pipeline_status import PipelineStatus, read_status
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream
from tests.support.events import open_record, usage_event


def test_an_empty_redis_has_an_empty_status(redis_url: str) -> None:
    with connect(redis_url, 30.0) as redis:
        assert read_status(redis) == PipelineStatus(
            waiting=0,
            claimed=0,
            oldest_waiting_ms=None,
            open_alive=0,
            open_orphaned=0,
            oldest_orphaned_ms=None,
            dead=0,
        )


def test_the_status_counts_what_waits_and_whose_it_is(redis_url: str) -> None:
    with connect(redis_url, 30.0) as redis:
        stream = EventStream(redis)
        for _ in range(3):
            stream.publish(usage_event())
        (first,) = stream.claim_new("drain", 1)
        stream.claim_new("other", 1)
        open_requests(redis)
        redis.xadd(DEAD, {"event": b"", "reason": "no"})
        assert read_status(redis) == PipelineStatus(
            waiting=3,
            claimed=2,
            oldest_waiting_ms=int(first.entry_id.partition("-")[0]),
            open_alive=2,
            open_orphaned=3,
            oldest_orphaned_ms=0,
            dead=1,
        )


def open_requests(redis: "Redis") -> None:
    """Open two requests of a live process, one of a crashed one, and two that are undecodable."""
    records = OpenRecords(redis)
    Processes(redis).heartbeat(Numbering("alive"))
    for number, owner in enumerate(["alive", "alive", "gone"]):
        record = open_record(event_id=f"e{number}", owner=owner, started_at_ms=number + 5)
        records.reopen(record.event_id, record.encode(), "", 0)
    records.reopen("e4", b"nonsense", "", 0)
    records.reopen("e5", b"[]", "", 0)
