"""EventStream: the events of finished requests, in Redis, until the ledger has them.

Does not know what an event contains, nor where it is posted.

    usage:events  stream  finished requests; it has one consumer group, so its length is the backlog
    usage:dead    stream  the dead letters: entries that the ledger cannot take, with the reason;
                          kept until an operator retries or drops them
    usage:posted  string  number of entries acknowledged since this Redis started
"""

import logging
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from redis import Redis, ResponseError

from app.admission.reservations import RELEASE, Charge
from app.storage.redis.connection import write_probe
from app.storage.redis.errors import redis_errors
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import DEAD, EVENTS, OPEN, POSTED, RESERVED, STARTED
from app.storage.redis.scripts import EVEN_IF_FULL, Argument, Script, read_lua, run
from app.usage.messages.event import UsageEvent
from app.usage.messages.numbered import Numbered
from app.usage.redis.stream_numbers import numbered_in

#: The consumer group. Its name stays as the first version wrote it: Redis would deliver every entry
#: of the stream again to a group of another name.
GROUP = "drain"

#: Entries claimed or acknowledged in one step, which blocks Redis for a few milliseconds. A Lua
#: call also takes no more than some thousands of arguments.
AT_ONCE = 1000

#: One script is one atomic step, as MULTI would be, at two thirds of its cost in this process.
#: Every request pays it.
PUBLISH = Script(read_lua(__package__, "publish"))
PUBLISH_AND_RELEASE = Script(RELEASE + read_lua(__package__, "publish_and_release"))
PUBLISH_EVEN_IF_FULL = Script(EVEN_IF_FULL + PUBLISH.source)
PUBLISH_AND_RELEASE_EVEN_IF_FULL = Script(EVEN_IF_FULL + PUBLISH_AND_RELEASE.source)
ACK = Script(read_lua(__package__, "ack"))
DEAD_LETTER = Script(read_lua(__package__, "dead_letter"))
FORGET_IDLE_CONSUMERS = Script(read_lua(__package__, "forget_idle_consumers"))

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """One claimed entry.

    `raw` is None if it holds no event: it was deleted, or another program wrote it.
    `charged` is what budgets were charged for it, in nano-dollars; None if they were not.
    """

    entry_id: str
    raw: bytes | None
    is_deleted: bool = False
    charged: int | None = None


class EventStream:
    """The stream of usage events; every method raises StreamUnavailable if Redis fails.

    `claim_idle_ms`: how long a claimed entry may stay unacknowledged before another consumer claims
    it. A consumer that is slower repeats a post, which is a no-op; nothing is lost.
    `publishes_if_full`: a Redis that has reached its memory limit takes events. Requests must then
    not be admitted meanwhile, so that it takes no more than those of requests in flight.
    """

    def __init__(
        self,
        redis: "Redis",
        commit: GroupCommit | None = None,
        *,
        claim_idle_ms: int = 10_000,
        publishes_if_full: bool = False,
    ) -> None:
        self._publish = PUBLISH
        self._publish_and_release = PUBLISH_AND_RELEASE
        if publishes_if_full:
            self._publish = PUBLISH_EVEN_IF_FULL
            self._publish_and_release = PUBLISH_AND_RELEASE_EVEN_IF_FULL
        self._redis = redis
        self._commit = commit or GroupCommit(redis)
        self._claim_idle_ms = claim_idle_ms

    def publish(self, event: UsageEvent, charge: Charge | None = None) -> None:
        """Append the event and remove its open record, both or neither.

        `charge` replaces what the request reserved of its limits; None if it has no limits.
        """
        self.publish_encoded(event.event_id, event.encode(), charge)

    @redis_errors()
    def publish_encoded(
        self, event_id: str, encoded: bytes, charge: Charge | None = None, keep: object = None
    ) -> None:
        """Append an event that was encoded before; the consumer validates it.

        `keep` is what is to be kept as soon as Redis has the event.
        """
        if charge is None:
            self._commit.run(self._publish, [EVENTS, OPEN], [encoded, event_id], lambda _: keep)
        else:
            args: list[Argument] = [encoded, event_id, *charge.arguments()]
            keys = [EVENTS, OPEN, RESERVED]
            self._commit.run(self._publish_and_release, keys, args, lambda _: keep)

    @redis_errors()
    def claim_left_over(self, consumer: str, limit: int) -> list[StreamEntry]:
        """Return up to `limit` entries that a consumer claimed long ago and did not acknowledge."""
        return self._in_group(lambda: self._claim_left_over(consumer, limit))

    @redis_errors()
    def claim_new(self, consumer: str, limit: int) -> list[StreamEntry]:
        """Return up to `limit` entries that no consumer has claimed yet."""
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
            claimed += [_entry(entry_id, fields) for entry_id, fields in new]
            if len(new) < count:
                break
        return claimed

    def _claim_left_over(self, consumer: str, limit: int) -> list[StreamEntry]:
        cursor: Any = b"0-0"
        count = min(AT_ONCE, limit)
        while True:
            answer: Any = self._redis.xautoclaim(
                EVENTS, GROUP, consumer, self._claim_idle_ms, start_id=cursor, count=count
            )
            cursor, entries, deleted = answer
            claimed = [_entry(entry_id, fields) for entry_id, fields in entries]
            # These were deleted while they were pending. They are reported without an event.
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
        """Delete posted entries from the stream, and the start times of their requests.

        Shapes: an event id for each entry id, or none at all. Ids that do not exist are ignored.
        """
        for start in range(0, len(entry_ids), AT_ONCE):
            end = start + AT_ONCE
            ids = entry_ids[start:end]
            args: list[Argument] = [GROUP, len(ids), *ids, *event_ids[start:end]]
            run(self._redis, ACK, [EVENTS, STARTED, POSTED], args)

    @redis_errors()
    def dead_letter(self, entries: Iterable[tuple[StreamEntry, str]]) -> None:
        """Move entries to the dead-letter stream, each with the reason and once, all or none."""
        args: list[Argument] = [GROUP]
        for entry, reason in entries:
            args += [entry.entry_id, entry.raw or b"", reason, "deleted" * entry.is_deleted]
            args.append("" if entry.charged is None else entry.charged)
        run(self._redis, DEAD_LETTER, [EVENTS, DEAD], args)

    @redis_errors()
    def check_write(self) -> None:
        """Write a probe: a former primary still answers reads."""
        write_probe(self._redis)

    @redis_errors()
    def backlog(self) -> int:
        """Count the events that the ledger does not have yet, including claimed ones."""
        return self._redis.xlen(EVENTS)

    @redis_errors()
    def claimed(self) -> int:
        """Count the events of the backlog that a consumer has claimed and not acknowledged."""
        try:
            summary: Any = self._redis.xpending(EVENTS, GROUP)
        except ResponseError as exc:
            if not str(exc).startswith("NOGROUP"):
                raise
            return 0
        return int(summary["pending"])

    @redis_errors()
    def oldest_ms(self) -> int | None:
        """Return when the oldest waiting event was published: Unix ms by Redis's clock."""
        first: Any = self._redis.xrange(EVENTS, count=1)
        return int(first[0][0].partition(b"-")[0]) if first else None

    @redis_errors()
    def numbered(self) -> list[Numbered]:
        """Return the identity of each event that the ledger does not have yet."""
        return list(numbered_in(self._redis, EVENTS))

    @redis_errors()
    def waiting_of(self, processes: Container[str]) -> set[tuple[str, int]]:
        """Return the process and number of each event of some processes; estimates are left out."""
        return {
            it.key
            for it in numbered_in(self._redis, EVENTS)
            if it.key is not None and it.key[0] in processes and it.status != "abandoned"
        }

    @redis_errors()
    def posted(self) -> int:
        """Count the entries that all workers have acknowledged; 0 after Redis lost its data."""
        return int(self._redis.get(POSTED) or 0)

    @redis_errors()
    def dead_count(self) -> int:
        """Count the dead letters."""
        return self._redis.xlen(DEAD)

    @redis_errors()
    def forget_idle_consumers(self, idle_ms: int = 3_600_000) -> int:
        """Delete consumers that have been idle for `idle_ms` and have no pending entries.

        Returns how many. Each worker process has its own consumer name, so that without this the
        names would accumulate.
        """
        forgotten: Any = run(self._redis, FORGET_IDLE_CONSUMERS, [EVENTS], [GROUP, idle_ms])
        return int(forgotten)


def _entry(entry_id: bytes, fields: dict[bytes, bytes]) -> StreamEntry:
    charged = fields.get(b"charged")
    amount = None if charged is None else int(charged)
    return StreamEntry(entry_id.decode(), fields.get(b"event"), charged=amount)
