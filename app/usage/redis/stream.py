"""EventStream: the events of requests that have ended, in Redis, until the ledger has them.

Does not know what is inside an event, nor where it is posted.

    usage:events  stream  ended requests; one consumer group, so its length is exactly the backlog
    usage:dead    stream  entries that no ledger can take, with the reason; kept until someone looks
    usage:drained string  how many entries were acknowledged since this Redis began
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from redis import BlockingConnectionPool, Redis, ResponseError, SSLConnection

from app.admission.reservations import RELEASE, Charge
from app.settings import ConfigError
from app.storage.redis.errors import redis_errors
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import DEAD, DRAINED, EVENTS, OPEN, PROBE, RESERVED, STARTED
from app.storage.redis.primary import (
    FollowingConnection,
    FollowingTLSConnection,
    Pool,
    retry_elsewhere,
)
from app.usage.event import UsageEvent

GROUP = "drain"

#: Connections of one process, besides its group commit's one; hosted plans count them. Measured:
#: 500 greenlets making 7,000 calls a second wait 1.6 ms (median) for these, and 10 ms with a
#: connection each. A URL may say otherwise (`?max_connections=5`).
CONNECTIONS = 16

#: One script is one atomic step, as MULTI would be, at two thirds of its cost in this process;
#: every request pays it.
PUBLISH = """
redis.call('XADD', KEYS[1], '*', 'event', ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[2])
"""

#: The same for a request that has reserved something of a limit. Where that is a budget, the entry
#: tells what the budget was charged, which may not be what the ledger makes of it.
PUBLISH_AND_RELEASE = f"""
{RELEASE}
local taken = redis.call('HGET', KEYS[3], ARGV[2])
if taken and string.find(taken, '"kind":"budget"', 1, true) then
  redis.call('XADD', KEYS[1], '*', 'event', ARGV[1], 'charged', ARGV[4])
else
  redis.call('XADD', KEYS[1], '*', 'event', ARGV[1])
end
redis.call('HDEL', KEYS[2], ARGV[2])
release(KEYS[3], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
"""

#: How long a probe stays, in seconds; nobody reads it.
PROBE_S = 60

#: Entries claimed or acknowledged in one step, which Redis keeps all others waiting for: a few
#: milliseconds. Lua takes no more than some thousands of arguments, besides.
AT_ONCE = 1000

#: A script, since a full Redis lets one go on that has made room: it would refuse the last command
#: of a transaction, and with it the whole.
ACK = """
local count = tonumber(ARGV[2])
redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 3, 2 + count))
redis.call('XDEL', KEYS[1], unpack(ARGV, 3, 2 + count))
if #ARGV > 2 + count then
  redis.call('ZREM', KEYS[2], unpack(ARGV, 3 + count))
end
redis.call('INCRBY', KEYS[3], count)
"""

#: An entry that another consumer buried meanwhile is gone, and is not buried again. What somebody
#: deleted before is told to one consumer alone.
BURY = """
local there = redis.call('XDEL', KEYS[1], ARGV[2])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
if there == 1 or ARGV[5] == 'deleted' then
  redis.call('XADD', KEYS[2], '*', 'event', ARGV[3], 'reason', ARGV[4], 'entry_id', ARGV[2])
end
"""

#: One script, so that no entry is delivered to a consumer between the look and the removal: with
#: the consumer its pending entries would go, and nobody would be given them again.
FORGET_CONSUMERS = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local forgotten = 0
for _, pairs_ in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for i = 1, #pairs_, 2 do consumer[pairs_[i]] = pairs_[i + 1] end
  if consumer.pending == 0 and consumer.idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
    forgotten = forgotten + 1
  end
end
return forgotten
"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """One claimed entry; `raw` is None when it holds no event (deleted, or written by others).

    `charged` is what budgets have been charged for it, in nano-dollars, where they were.
    """

    entry_id: str
    raw: bytes | None
    is_deleted: bool = False
    charged: int | None = None


def connect(url: str, timeout_s: float) -> "Redis":
    """Return a client that tries once and waits at most `timeout_s` for each of three things:
    a free connection, the connect, the answer. What a server refuses that is not the primary (any
    more), it tries once more on a new connection.

    `rediss://` checks the certificate unless the URL says `ssl_cert_reqs=none`.
    Raises: ConfigError when the URL cannot be read; it holds no part of the URL.
    """
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=timeout_s,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            # The default retries for seconds, while a caller waits for an answer.
            retry=retry_elsewhere(),
            together=Pool(),
            # A pooled connection is looked at before use anyway; a PING would be a round trip more.
            health_check_interval=0,
            # RESP3 costs each new connection further round trips and gives us nothing.
            protocol=2,
        )
    except ValueError:
        # The cause may quote the password: it stays out of the traceback.
        raise ConfigError("REDIS_URL is no Redis URL (redis://host:port/0)") from None
    is_tls = issubclass(pool.connection_class, SSLConnection)
    pool.connection_class = FollowingTLSConnection if is_tls else FollowingConnection
    return Redis.from_pool(pool)


def write_probe(redis: "Redis") -> None:
    """Write what nobody reads. Raises: RedisError, OSError, where Redis takes no write."""
    redis.set(PROBE, 1, ex=PROBE_S)


class EventStream:
    """The stream of usage events; every method raises StreamUnavailable when Redis will not do it.

    `claim_idle_ms`: how long a claimed entry may stay unacknowledged before another consumer takes
    it. A slower consumer costs a repeated post, which is a no-op, never a loss.
    """

    def __init__(
        self, redis: "Redis", commit: GroupCommit | None = None, *, claim_idle_ms: int = 10_000
    ) -> None:
        self._redis = redis
        self._commit = commit or GroupCommit(redis)
        self._claim_idle_ms = claim_idle_ms

    def publish(self, event: UsageEvent, spent: Charge | None = None) -> None:
        """Append the event and remove its open record, both or neither.

        `spent` takes the place of what the request reserved of its limits, if it did.
        """
        self.publish_encoded(event.event_id, event.encode(), spent)

    @redis_errors()
    def publish_encoded(self, event_id: str, encoded: bytes, spent: Charge | None = None) -> None:
        """Append an event as it was encoded before; the drain finds out whether it is one."""
        if spent is None:
            self._commit.run(PUBLISH, [EVENTS, OPEN], [encoded, event_id])
        else:
            args: list[str | bytes | int] = [encoded, event_id, *spent.arguments()]
            self._commit.run(PUBLISH_AND_RELEASE, [EVENTS, OPEN, RESERVED], args)

    @redis_errors()
    def claim(self, consumer: str, limit: int) -> list[StreamEntry]:
        """Return up to `limit` entries: what dead consumers left, else new ones, else none."""
        return self._in_group(
            lambda: self._claim_left_over(consumer, limit) or self._claim_new(consumer, limit)
        )

    @redis_errors()
    def claim_left_over(self, consumer: str, limit: int) -> list[StreamEntry]:
        """Return up to `limit` entries that a consumer claimed long ago and did not acknowledge."""
        return self._in_group(lambda: self._claim_left_over(consumer, limit))

    @redis_errors()
    def claim_new(self, consumer: str, limit: int) -> list[StreamEntry]:
        """Return up to `limit` entries that nobody has claimed before."""
        return self._in_group(lambda: self._claim_new(consumer, limit))

    def _in_group(self, claim: Callable[[], list[StreamEntry]]) -> list[StreamEntry]:
        try:
            return claim()
        except ResponseError as exc:
            if not str(exc).startswith("NOGROUP"):
                raise
        self._create_group()
        return claim()

    def _claim_new(self, consumer: str, limit: int) -> list[StreamEntry]:
        claimed: list[StreamEntry] = []
        while len(claimed) < limit:
            count = min(AT_ONCE, limit - len(claimed))
            answer: Any = self._redis.xreadgroup(GROUP, consumer, {EVENTS: ">"}, count=count)
            new = [entry for _, entries in answer for entry in entries]
            claimed += [_entry(entry_id, record) for entry_id, record in new]
            if len(new) < count:
                break
        return claimed

    def _claim_left_over(self, consumer: str, limit: int) -> list[StreamEntry]:
        cursor: Any = b"0-0"
        while True:
            answer: Any = self._redis.xautoclaim(
                EVENTS,
                GROUP,
                consumer,
                self._claim_idle_ms,
                start_id=cursor,
                count=min(AT_ONCE, limit),
            )
            cursor, entries, deleted = answer
            claimed = [_entry(entry_id, record) for entry_id, record in entries]
            # Somebody deleted these while they were pending. Reported as entries without an event.
            claimed += [StreamEntry(entry_id.decode(), None, True) for entry_id in deleted]
            if claimed or cursor == b"0-0":
                return claimed

    def _create_group(self) -> None:
        try:
            self._redis.xgroup_create(EVENTS, GROUP, id="0", mkstream=True)
        except ResponseError as exc:
            if not str(exc).startswith("BUSYGROUP"):  # another consumer was faster
                raise
        else:
            logger.info("the consumer group %s was missing and has been created", GROUP)

    @redis_errors()
    def ack(self, entry_ids: Sequence[str], event_ids: Sequence[str] = ()) -> None:
        """Take posted entries off the stream, and their events off those that are waited for.

        Shapes: an event id for each entry id, or none at all. Ids that are gone already are no
        error.
        """
        for start in range(0, len(entry_ids), AT_ONCE):
            end = start + AT_ONCE
            ids = entry_ids[start:end]
            args = [str(len(ids)), *ids, *event_ids[start:end]]
            self._redis.eval(ACK, 3, EVENTS, STARTED, DRAINED, GROUP, *args)

    @redis_errors()
    def dead_letter(self, entries: Iterable[tuple[StreamEntry, str]]) -> None:
        """Move entries to the dead stream, each with the reason and once, all or none."""
        with self._redis.pipeline(transaction=True) as pipe:
            for entry, reason in entries:
                deleted = "deleted" if entry.is_deleted else ""
                args: list[Any] = [GROUP, entry.entry_id, entry.raw or b"", reason, deleted]
                pipe.eval(BURY, 2, EVENTS, DEAD, *args)
            pipe.execute()

    @redis_errors()
    def check_write(self) -> None:
        """Write something: whoever only reads may be asking a former primary."""
        write_probe(self._redis)

    @redis_errors()
    def backlog(self) -> int:
        """Count the events that the ledger does not have yet, claimed ones included."""
        return self._redis.xlen(EVENTS)

    @redis_errors()
    def claimed(self) -> int:
        """Count those of them that a consumer has claimed and not acknowledged."""
        try:
            summary: Any = self._redis.xpending(EVENTS, GROUP)
        except ResponseError as exc:
            if not str(exc).startswith("NOGROUP"):
                raise
            return 0
        return int(summary["pending"])

    @redis_errors()
    def oldest_ms(self) -> int | None:
        """Return when the oldest waiting event was published: Unix milliseconds, Redis' clock."""
        first: Any = self._redis.xrange(EVENTS, count=1)
        return int(first[0][0].partition(b"-")[0]) if first else None

    @redis_errors()
    def drained(self) -> int:
        """Count the entries acknowledged so far, by all workers; 0 again when Redis forgets."""
        return int(self._redis.get(DRAINED) or 0)

    @redis_errors()
    def dead_count(self) -> int:
        """Count the buried entries."""
        return self._redis.xlen(DEAD)

    @redis_errors()
    def forget_idle_consumers(self, idle_ms: int = 3_600_000) -> int:
        """Drop consumers idle for `idle_ms` with nothing pending; return how many.

        Each worker process has a name of its own, so names would pile up for ever.
        """
        forgotten: Any = self._redis.eval(FORGET_CONSUMERS, 1, EVENTS, GROUP, str(idle_ms))
        return int(forgotten)


def _entry(entry_id: bytes, record: dict[bytes, bytes]) -> StreamEntry:
    charged = record.get(b"charged")
    amount = None if charged is None else int(charged)
    return StreamEntry(entry_id.decode(), record.get(b"event"), charged=amount)
