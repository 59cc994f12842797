"""Filling a Valkey with usage events, as a ledger that is down does, and giving it room again."""

from redis import Redis

from app.usage.redis.stream import EventStream
from app.vocabulary.errors import StreamFull
from tests.support.events import usage_event

#: Room for the events, in bytes.
ROOM_BYTES = 2_000_000

MARGIN_BYTES = 200_000


def fill(redis: "Redis", room: int = ROOM_BYTES) -> int:
    """Limit the memory and publish events until Redis takes no more; return how many it took."""
    redis.config_set("maxmemory-policy", "noeviction")
    redis.config_set("maxmemory", memory(redis) + room)
    taken = refill(redis)
    # What connections take differs from moment to moment, and must not make room.
    redis.config_set("maxmemory", memory(redis) - MARGIN_BYTES)
    return taken


def refill(redis: "Redis") -> int:
    """Publish events until Redis takes no more; return how many it took."""
    stream, taken = EventStream(redis), 0
    while True:
        try:
            stream.publish(usage_event())
        except StreamFull:
            return taken
        taken += 1


def make_room(redis: "Redis") -> None:
    """Remove the memory limit."""
    redis.config_set("maxmemory", 0)


def memory(redis: "Redis") -> int:
    """Return the memory that counts against the limit, in bytes."""
    return int(redis.info("memory")["used_memory"])
