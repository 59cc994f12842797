"""What Redis holds on its way to the ledger; only looks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from redis import Redis

from app.usage.redis.dead_letters import DeadLetterStream
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStatus:
    """Counts of events and of requests; times in Unix ms, None where there is nothing.

    `claimed` events are part of `waiting` ones. `open_orphaned` requests are those whose process is
    gone; `oldest_orphaned_ms` is when the first of them started.
    """

    waiting: int
    claimed: int
    oldest_waiting_ms: int | None
    open_alive: int
    open_orphaned: int
    oldest_orphaned_ms: int | None
    dead: int


def look(redis: "Redis") -> PipelineStatus:
    """Return what is there now.

    Raises: StreamUnavailable.
    """
    events, records = EventStream(redis), OpenRecords(redis)
    opened = [_load(record) for record in records.all().values()]
    alive = records.live_owners({str(record.get("owner")) for record in opened})
    gone = [record for record in opened if record.get("owner") not in alive]
    return PipelineStatus(
        waiting=events.backlog(),
        claimed=events.claimed(),
        oldest_waiting_ms=events.oldest_ms(),
        open_alive=len(opened) - len(gone),
        open_orphaned=len(gone),
        oldest_orphaned_ms=min((_started_ms(record) for record in gone), default=None),
        dead=DeadLetterStream(redis).count(),
    )


def _started_ms(record: Mapping[str, Any]) -> int:
    started = record.get("started_at_ms")
    return started if isinstance(started, int) else 0


def _load(raw: bytes) -> Mapping[str, Any]:
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return record if isinstance(record, dict) else {}
