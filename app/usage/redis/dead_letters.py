"""DeadLetterStream: entries that no ledger could take, kept with the reason until someone decides.

Does not know what is inside an event, nor why the drain refused it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from redis import Redis

from app.storage.redis.errors import redis_errors
from app.storage.redis.keys import DEAD, EVENTS

#: Entries read or moved in one round trip, so that memory stays flat.
AT_ONCE = 500

#: An entry is on one of the two streams at any time, and never on both.
RETRY = """
local moved = {}
for _, id in ipairs(ARGV) do
  local found = redis.call('XRANGE', KEYS[1], id, id)[1]
  if found then
    for i = 1, #found[2], 2 do
      if found[2][i] == 'event' then
        redis.call('XADD', KEYS[2], '*', 'event', found[2][i + 1])
      end
    end
    redis.call('XDEL', KEYS[1], id)
    moved[#moved + 1] = id
  end
end
return moved
"""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One buried entry; `raw` is what should have been an event, perhaps nothing."""

    entry_id: str
    raw: bytes
    reason: str

    @property
    def dead_lettered_at_ms(self) -> int:
        """When it was buried: Unix milliseconds, Redis' clock."""
        return int(self.entry_id.partition("-")[0])


class DeadLetterStream:
    """The dead stream; every method raises StreamUnavailable when Redis will not do it."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    @redis_errors()
    def count(self) -> int:
        """Count the buried entries."""
        return self._redis.xlen(DEAD)

    def entries(self) -> Iterator[DeadLetter]:
        """Yield the entries that are there now, the oldest first.

        What is buried meanwhile is left out: an entry that was tried again may come back.
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
    def retry(self, entry_ids: Sequence[str]) -> list[str]:
        """Put entries back on the stream of events; return the ids of those that were there."""
        moved: Any = self._redis.eval(RETRY, 2, DEAD, EVENTS, *entry_ids)
        return [entry_id.decode() for entry_id in moved]

    @redis_errors()
    def drop(self, entry_ids: Sequence[str]) -> list[str]:
        """Forget entries for good; return the ids of those that were there."""
        with self._redis.pipeline(transaction=True) as pipe:
            for entry_id in entry_ids:
                pipe.xdel(DEAD, entry_id)
            dropped = pipe.execute()
        return [entry_id for entry_id, gone in zip(entry_ids, dropped, strict=True) if gone]


def _entry(entry_id: bytes, fields: dict[bytes, bytes]) -> DeadLetter:
    reason = fields.get(b"reason", b"").decode(errors="replace")
    return DeadLetter(entry_id.decode(), fields.get(b"event", b""), reason)
