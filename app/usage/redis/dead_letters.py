"""DeadLetterStream: entries that the ledger cannot take, with the reason, until an operator acts.

Does not know what an entry contains, nor why the consumer rejected it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from redis import Redis

from app.storage.redis.errors import redis_errors
from app.storage.redis.keys import DEAD, EVENTS
from app.storage.redis.scripts import Script, read_lua, run
from app.usage.redis.stream_numbers import numbers_in

#: Entries read in one round trip, so that memory stays flat.
AT_ONCE = 500

RETRY = Script(read_lua(__package__, "retry_dead_letters"))


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One rejected entry; `raw` is what should have been an event, perhaps empty."""

    entry_id: str
    raw: bytes
    reason: str

    @property
    def dead_lettered_at_ms(self) -> int:
        """When it was moved here: Unix milliseconds by Redis's clock."""
        return int(self.entry_id.partition("-")[0])


class DeadLetterStream:
    """The dead-letter stream; every method raises StreamUnavailable if Redis fails."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    @redis_errors()
    def count(self) -> int:
        """Count the dead letters."""
        return self._redis.xlen(DEAD)

    def entries(self) -> Iterator[DeadLetter]:
        """Yield the dead letters that exist at the call, the oldest first.

        Later ones are left out: an entry that is retried may come back.
        """
        with redis_errors():
            last: Any = self._redis.xrevrange(DEAD, count=1)
        start = "-"
        while last:
            with redis_errors():
                page: Any = self._redis.xrange(DEAD, start, last[0][0], count=AT_ONCE)
            if not page:
                return
            yield from (_entry(entry_id, fields) for entry_id, fields in page)
            start = f"({page[-1][0].decode()}"

    @redis_errors()
    def numbers(self) -> set[tuple[str, int]]:
        """Return the process and number of each dead letter that has them."""
        return set(numbers_in(self._redis, DEAD))

    @redis_errors()
    def retry(self, entry_ids: Sequence[str]) -> list[str]:
        """Move dead letters back to the event stream; return the ids of those that existed."""
        moved: Any = run(self._redis, RETRY, [DEAD, EVENTS], entry_ids)
        return [entry_id.decode() for entry_id in moved]

    @redis_errors()
    def drop(self, entry_ids: Sequence[str]) -> list[str]:
        """Delete dead letters for good; return the ids of those that existed."""
        with self._redis.pipeline(transaction=True) as pipe:
            for entry_id in entry_ids:
                pipe.xdel(DEAD, entry_id)
            deleted = pipe.execute()
        return [entry_id for entry_id, count in zip(entry_ids, deleted, strict=True) if count]


def _entry(entry_id: bytes, fields: dict[bytes, bytes]) -> DeadLetter:
    reason = fields.get(b"reason", b"").decode(errors="replace")
    return DeadLetter(entry_id.decode(), fields.get(b"event", b""), reason)
