"""Whose events are in a stream, without their other fields."""

from collections.abc import Iterator
from typing import Any

from redis import Redis

from app.usage.messages.numbered import numbered

#: Entries read in one round trip, which blocks Redis for a few milliseconds.
AT_ONCE = 1000


def numbers_in(redis: "Redis", stream: str) -> Iterator[tuple[str, int]]:
    """Yield the process and number of each event in a stream, in steps that do not block Redis."""
    start = "-"
    while True:
        entries: Any = redis.xrange(stream, start, count=AT_ONCE)
        for _, fields in entries:
            it = numbered(fields.get(b"event", b""))
            if it is not None and it.key is not None:
                yield it.key
        if len(entries) < AT_ONCE:
            return
        start = f"({entries[-1][0].decode()}"
