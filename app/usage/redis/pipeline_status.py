"""PipelineStatus: what is in Redis on its way to the ledger. Only reads."""

from collections.abc import Iterable
from dataclasses import dataclass

from redis import Redis

from app.usage.messages.message import UndecodableMessage
from app.usage.messages.open_record import OpenRecord
from app.usage.redis.dead_letters import DeadLetterStream
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStatus:
    """Counts of events and of requests; times in Unix ms, None if there is nothing.

    `claimed` events are included in `waiting`. `open_orphaned` requests are those whose process has
    exited or whose record cannot be decoded; the earliest of them started at `oldest_orphaned_ms`,
    which is 0 if that is unknown.
    """

    waiting: int
    claimed: int
    oldest_waiting_ms: int | None
    open_alive: int
    open_orphaned: int
    oldest_orphaned_ms: int | None
    dead: int


def read_status(redis: "Redis") -> PipelineStatus:
    """Return the present status.

    Raises: StreamUnavailable.
    """
    events, records = EventStream(redis), OpenRecords(redis)
    opened = list(_decode_all(records.all().values()))
    live = records.live_owners({it.owner for it in opened if it is not None and it.owner})
    orphaned = [it for it in opened if it is None or it.owner not in live]
    return PipelineStatus(
        waiting=events.backlog(),
        claimed=events.claimed(),
        oldest_waiting_ms=events.oldest_ms(),
        open_alive=len(opened) - len(orphaned),
        open_orphaned=len(orphaned),
        oldest_orphaned_ms=min((it.started_at_ms if it else 0 for it in orphaned), default=None),
        dead=DeadLetterStream(redis).count(),
    )


def _decode_all(raws: Iterable[bytes]) -> Iterable[OpenRecord | None]:
    """Yield the records, None for each that cannot be decoded."""
    for raw in raws:
        try:
            yield OpenRecord.decode(raw)
        except UndecodableMessage:
            yield None
