"""What is on its way, as a look into a real Valkey finds it."""

import orjson
from redis import Redis

from app.storage.redis.keys import DEAD
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.pipeline_status import PipelineStatus, look
from app.usage.redis.stream import EventStream, connect
from tests.support.events import usage_event


def test_nothing_is_on_its_way_in_an_empty_redis(redis_url: str) -> None:
    with connect(redis_url, 30.0) as redis:
        assert look(redis) == PipelineStatus(
            waiting=0,
            claimed=0,
            oldest_waiting_ms=None,
            open_alive=0,
            open_orphaned=0,
            oldest_orphaned_ms=None,
            dead=0,
        )


def test_a_look_counts_what_waits_and_whose_it_is(redis_url: str) -> None:
    with connect(redis_url, 30.0) as redis:
        stream = EventStream(redis)
        for _ in range(3):
            stream.publish(usage_event())
        (first,) = stream.claim("drain", 1)
        stream.claim("other", 1)
        open_requests(redis)
        redis.xadd(DEAD, {"event": b"", "reason": "no"})
        assert look(redis) == PipelineStatus(
            waiting=3,
            claimed=2,
            oldest_waiting_ms=int(first.entry_id.partition("-")[0]),
            open_alive=2,
            open_orphaned=3,
            oldest_orphaned_ms=0,
            dead=1,
        )


def open_requests(redis: "Redis") -> None:
    """Open two requests of a living process, one of a dead one, and two that nobody can read."""
    records = OpenRecords(redis)
    records.heartbeat("alive")
    for number, owner in enumerate(["alive", "alive", "gone"]):
        record = orjson.dumps({"owner": owner, "started_at_ms": number + 5})
        records.open(f"e{number}", record, number + 5)
    records.open("e4", b"nonsense", 1)
    records.open("e5", b"[]", 1)
