"""OpenRecords: the requests that have been admitted and have not ended, in Redis.

A record is written before a vendor is called and removed with the event, so that a process that
dies in between leaves word of its call. Does not know what a record says.

    usage:open        hash        event id -> record
    usage:started     sorted set  event id -> when it started, Unix ms; until the ledger has it
    usage:owner:<id>  string      a process that is alive; it expires when the process does not
                                  renew it
"""

from collections.abc import Collection, Mapping
from typing import Any

from redis import Redis

from app.admission.reservations import NOTHING, RELEASE, Charge
from app.storage.redis.errors import redis_errors
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import DEAD, EVENTS, OPEN, OWNER, PROBE, RESERVED, STARTED
from app.usage.event import UsageEvent

#: How long a process counts as alive after its last sign, and how often it gives one, seconds.
OWNER_TTL_S = 30
OWNER_RENEWAL_S = 5

#: Each script is one atomic step in one round trip.
OPEN_RECORD = """
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
"""

#: A record that was removed meanwhile must not come back.
UPDATE_RECORDS = """
for i = 1, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
"""

#: Whoever removes the record makes the event: the process itself, or one of several reapers.
ABANDON = f"""
{RELEASE}
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', ARGV[2], ARGV[3], 'reason', ARGV[4])
release(KEYS[3], ARGV[1], tonumber(ARGV[5]), tonumber(ARGV[6]))
return 1
"""

#: Ids whose event went to the dead stream, or was lost with it, hold nobody up for ever.
SWEEP_STARTED = """
if redis.call('XLEN', KEYS[2]) > 0 then return 0 end
local swept = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1000)) do
  if redis.call('HEXISTS', KEYS[3], id) == 0 then
    swept = swept + redis.call('ZREM', KEYS[1], id)
  end
end
return swept
"""

#: Begins with a write that changes nothing, and that a replica refuses: on a former primary every
#: process would seem dead.
ALIVE = """
redis.call('DEL', KEYS[1])
return redis.call('MGET', unpack(KEYS, 2))
"""

#: What is reserved for no open record was left by a version that knew no reservations.
RELEASE_ORPHANS = f"""
{RELEASE}
local released = 0
for _, id in ipairs(redis.call('HKEYS', KEYS[2])) do
  if redis.call('HEXISTS', KEYS[1], id) == 0 then
    released = released + release(KEYS[2], id, 0, 0)
  end
end
return released
"""


class OpenRecords:
    """The open records; every method raises StreamUnavailable when Redis will not do it."""

    def __init__(self, redis: "Redis", commit: GroupCommit | None = None) -> None:
        self._redis = redis
        self._commit = commit or GroupCommit(redis)
        self._update = redis.register_script(UPDATE_RECORDS)
        self._alive = redis.register_script(ALIVE)
        self._abandon = redis.register_script(ABANDON)

    @redis_errors()
    def open(self, event_id: str, record: bytes, started_at_ms: int) -> None:
        """Write that a request was admitted, before the vendor is called."""
        self._commit.run(OPEN_RECORD, [OPEN, STARTED], [event_id, record, started_at_ms])

    @redis_errors()
    def update(self, records: Mapping[str, bytes]) -> None:
        """Write what has become of requests since; those that have ended stay away."""
        if records:
            args: list[str | bytes] = []
            for event_id, record in records.items():
                args += (event_id, record)
            self._update(keys=[OPEN], args=args)

    @redis_errors()
    def close(self, event_id: str) -> None:
        """Remove a record whose event is on its way by another road."""
        self._redis.hdel(OPEN, event_id)

    @redis_errors()
    def all(self) -> dict[str, bytes]:
        """Return the records, by event id."""
        found: Any = self._redis.hscan_iter(OPEN, count=1000)
        return {event_id.decode(): record for event_id, record in found}

    @redis_errors()
    def count(self) -> int:
        """Count the requests that have not ended."""
        return self._redis.hlen(OPEN)

    @redis_errors()
    def heartbeat(self, owner: str) -> None:
        """Say that a process is alive, for OWNER_TTL_S from now."""
        self._redis.set(OWNER + owner, 1, ex=OWNER_TTL_S)

    @redis_errors()
    def live_owners(self, owners: Collection[str]) -> frozenset[str]:
        """Return those of `owners` that are alive."""
        names = sorted(owners)
        if not names:
            return frozenset()
        signs: Any = self._alive(keys=[PROBE, *(OWNER + name for name in names)])
        return frozenset(name for name, sign in zip(names, signs, strict=True) if sign)

    @redis_errors()
    def abandon(self, event: UsageEvent, spent: Charge = NOTHING) -> bool:
        """Turn a record into its event; False where another was faster.

        `spent` takes the place of what the request reserved of its limits, if it did.
        """
        args: list[str | bytes | int] = [event.event_id, "event", event.encode(), "abandoned"]
        args += spent.arguments()
        return bool(self._abandon(keys=[OPEN, EVENTS, RESERVED], args=args))

    @redis_errors()
    def dead_letter(self, event_id: str, record: bytes, reason: str) -> bool:
        """Move a record that nobody can read to the dead stream; False where it is gone."""
        args: list[str | bytes | int] = [event_id, "event", record, reason, *NOTHING.arguments()]
        return bool(self._abandon(keys=[OPEN, DEAD, RESERVED], args=args))

    @redis_errors()
    def oldest_started_ms(self) -> int | None:
        """Return when the oldest request started that the ledger does not have, in Unix ms."""
        first: Any = self._redis.zrange(STARTED, 0, 0, withscores=True)
        return int(first[0][1]) if first else None

    @redis_errors()
    def sweep(self, before_ms: int) -> int:
        """Forget when requests started that are neither open nor waiting; return how many."""
        keys = [STARTED, EVENTS, OPEN]
        swept: Any = self._redis.eval(SWEEP_STARTED, len(keys), *keys, str(before_ms))
        return int(swept)

    @redis_errors()
    def release_orphans(self) -> int:
        """Give back what is reserved for requests that are not open; return how many they were."""
        keys = [OPEN, RESERVED]
        released: Any = self._redis.eval(RELEASE_ORPHANS, len(keys), *keys)
        return int(released)
