"""OpenRecords: requests that were admitted and have not finished, in Redis.

A record is written before a vendor is called and removed with the event, so that the call of a
process that crashes in between is known. Does not know what a record contains.

    usage:open        hash        event id -> record
    usage:started     sorted set  event id -> start in Unix ms, of requests of the version before
"""

from collections.abc import Collection, Mapping
from typing import Any

from redis import Redis

from app.admission.numbering import Opening
from app.admission.reservations import NOTHING, OPEN_REQUEST, RELEASE, Charge
from app.storage.redis.errors import redis_errors
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import DEAD, EVENTS, GIVEN, OPEN, OWNER, PROBE, RESERVED, STARTED
from app.storage.redis.scripts import EVEN_IF_FULL, Argument, Script, read_lua, run
from app.usage.messages.event import UsageEvent
from app.usage.messages.numbered import Numbered, numbered

#: The scripts that a full Redis runs, too, write no more than a few keys for each request in flight
#: and for each process.
OPEN_RECORD = Script(OPEN_REQUEST + read_lua(__package__, "open_record"))
OPEN_RECORD_EVEN_IF_FULL = Script(EVEN_IF_FULL + OPEN_RECORD.source)
UPDATE_RECORDS = Script(EVEN_IF_FULL + read_lua(__package__, "update_records"))
REOPEN_RECORD = Script(EVEN_IF_FULL + read_lua(__package__, "reopen_record"))
SETTLE = Script(RELEASE + read_lua(__package__, "settle"))
ABANDON = Script(RELEASE + read_lua(__package__, "abandon"))
SWEEP_STARTED = Script(read_lua(__package__, "sweep_started"))
LIVE_OWNERS = Script(read_lua(__package__, "live_owners"))
RELEASE_ORPHANS = Script(RELEASE + read_lua(__package__, "release_orphans"))


#: Processes that are asked about in one step: a Lua call takes less than 8,000 arguments, and all
#: processes of the last weeks may be asked about.
OWNERS_AT_ONCE = 1000


class OpenRecords:
    """The open records; every method raises StreamUnavailable if Redis fails.

    `opens_if_full`: a Redis that has reached its memory limit takes new records.
    """

    def __init__(
        self, redis: "Redis", commit: GroupCommit | None = None, *, opens_if_full: bool = True
    ) -> None:
        self._open = OPEN_RECORD_EVEN_IF_FULL if opens_if_full else OPEN_RECORD
        self._redis = redis
        self._commit = commit or GroupCommit(redis)

    @redis_errors()
    def open(self, opening: Opening) -> int:
        """Write that a request was admitted, before the vendor is called; return its number."""
        keys = [OPEN, GIVEN]
        return int(self._commit.run(self._open, keys, opening.arguments, opening.opened))

    @redis_errors()
    def reopen(
        self, event_id: str, record: bytes, process: str, number: int, *, keep: object = None
    ) -> None:
        """Write the record of a request that was opened before, unless it is open now.

        `keep` is what is to be kept as soon as Redis has the record.
        """
        args: list[Argument] = [event_id, record, process, number]
        self._commit.run(REOPEN_RECORD, [OPEN, GIVEN], args, lambda _: keep)

    @redis_errors()
    def settle(self, event_id: str, charge: Charge | None) -> None:
        """Remove the record of a request whose event is in a spool, because Redis is full.

        `charge` replaces what the request reserved of its limits; None if it has no limits.
        """
        args: list[Argument] = [event_id, *(charge or NOTHING).arguments()]
        self._commit.run(SETTLE, [OPEN, STARTED, RESERVED], args)

    @redis_errors()
    def update(self, records: Mapping[str, bytes]) -> None:
        """Replace records by event id; those of finished requests stay removed."""
        if records:
            args: list[Argument] = []
            for event_id, record in records.items():
                args += (event_id, record)
            run(self._redis, UPDATE_RECORDS, [OPEN], args)

    @redis_errors()
    def close(self, event_id: str) -> None:
        """Remove the record of a request whose event is published separately."""
        self._redis.hdel(OPEN, event_id)

    @redis_errors()
    def all(self) -> dict[str, bytes]:
        """Return the records by event id."""
        found: Any = self._redis.hscan_iter(OPEN, count=1000)
        return {event_id.decode(): record for event_id, record in found}

    def numbered(self) -> list[Numbered]:
        """Return the identity of each open request."""
        found = (numbered(record) for record in self.all().values())
        return [it for it in found if it is not None]

    @redis_errors()
    def count(self) -> int:
        """Count the requests that have not finished."""
        return self._redis.hlen(OPEN)

    @redis_errors()
    def live_owners(self, owners: Collection[str]) -> Mapping[str, bytes]:
        """Return those of `owners` that are live, with the values of their heartbeats."""
        names, live = sorted(owners), dict[str, bytes]()
        for at in range(0, len(names), OWNERS_AT_ONCE):
            some = names[at : at + OWNERS_AT_ONCE]
            heartbeats: Any = run(self._redis, LIVE_OWNERS, [PROBE, *map(OWNER.__add__, some)])
            live |= {name: sign for name, sign in zip(some, heartbeats, strict=True) if sign}
        return live

    @redis_errors()
    def abandon(self, event: UsageEvent, charge: Charge = NOTHING) -> bool:
        """Replace a record by its event; False if the record is gone.

        `charge` replaces what the request reserved of its limits, if it did.
        """
        return self._replace_by(EVENTS, event.event_id, event.encode(), "abandoned", charge)

    @redis_errors()
    def dead_letter(self, event_id: str, record: bytes, reason: str) -> bool:
        """Move an undecodable record to the dead-letter stream; False if the record is gone."""
        return self._replace_by(DEAD, event_id, record, reason, NOTHING)

    def _replace_by(
        self, stream: str, event_id: str, entry: bytes, reason: str, charge: Charge
    ) -> bool:
        args: list[Argument] = [event_id, entry, reason, *charge.arguments()]
        return bool(run(self._redis, ABANDON, [OPEN, stream, RESERVED], args))

    @redis_errors()
    def oldest_started_ms(self) -> int | None:
        """Return the earliest start of a request that the ledger lacks, in Unix ms.

        Of web processes of the version before; a worker's search knows those of this one.
        """
        first: Any = self._redis.zrange(STARTED, 0, 0, withscores=True)
        return int(first[0][1]) if first else None

    @redis_errors()
    def sweep(self, before_ms: int) -> int:
        """Forget the start times of requests that are neither open nor waiting; return how many."""
        swept: Any = run(self._redis, SWEEP_STARTED, [STARTED, EVENTS, OPEN], [before_ms])
        return int(swept)

    @redis_errors()
    def release_orphans(self) -> int:
        """Release the reservations of requests that are not open; return how many."""
        released: Any = run(self._redis, RELEASE_ORPHANS, [OPEN, RESERVED])
        return int(released)
