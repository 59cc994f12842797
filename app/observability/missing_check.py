"""Finds the requests whose usage is nowhere: neither open, nor on its way, nor in the ledger.

The places are read in the order in which an event passes them, so that an event which moves on in
the meantime is seen. A process that has events in its spool is left out: they are on its disk.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from msgspec.structs import replace
from redis import Redis
from sqlalchemy import Engine

from app.ledger.process_numbers import (
    KEPT_MS,
    ProcessNumbers,
    forget_processes,
    note_given,
    read_processes,
)
from app.settings import MAIN_CELL
from app.usage.missing import Missing, Search
from app.usage.numbers import missing, without
from app.usage.redis.dead_letters import DeadLetterStream
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import SPOOLS, Processes
from app.usage.redis.stream import EventStream

#: Beyond this backlog, nothing is searched: what waits is not missing.
BACKLOG_LIMIT = 50_000

#: How long a request must be missing before it is an alarm, in ms: journals are sent again, and
#: spools are replayed, within a few heartbeats.
SETTLED_MS = 60_000

#: A Redis command may wait three times: for a free connection, to connect, and for the reply.
_REDIS_WAITS = 3

#: How often the ledger is told that a process is live, in ms.
SEEN_EVERY_MS = 60_000


@dataclass(frozen=True, slots=True)
class Underway:
    """The requests that are open or on their way to the ledger.

    `numbers` has those of each process, dead letters included. `oldest_ms` is the earliest start,
    in Unix ms, dead letters excluded.
    """

    numbers: Mapping[str, set[int]]
    oldest_ms: int | None


@dataclass(frozen=True, slots=True)
class MissingCheck:
    """Compares the processes of one Redis, those of the cell, with the ledger."""

    redis: "Redis"
    engine: Engine
    cell: str = MAIN_CELL
    redis_timeout_s: float = 2.0

    def find(self, now_ms: int) -> Search:
        """Find what is missing, and tell the web processes what is posted and what is missing.

        What is known of processes that ended long ago is forgotten, if nothing of them is missing.
        Raises: StreamUnavailable, LedgerUnavailable.
        """
        processes, records = Processes(self.redis), OpenRecords(self.redis)
        given, last = processes.given(), processes.search()
        earlier = self._rows(given)
        before = last.missing if last is not None else ()
        for name, row in earlier.items():
            given[name] = max(given.get(name, 0), row.given)
        live = records.live_owners(given)
        underway = self._underway(records)
        # Read last: an event that was posted in the meantime is not missing.
        self._note_given(given, live, earlier, now_ms)
        rows = self._rows(given)
        search = last or Search(0)
        if underway is not None:
            spools = {name for name, value in live.items() if value == SPOOLS}
            gaps = list(_gaps(given, rows, underway.numbers, now_ms))
            found = tuple(_since(before, it) for it in gaps if it.process not in spools)
            spooled_ms = [it.from_ms for it in gaps if it.process in spools]
            oldest_ms = underway.oldest_ms or now_ms
            search = Search(min([now_ms - self._admission_ms, oldest_ms, *spooled_ms]), found)
        processes.store({name: row.posted for name, row in rows.items()}, search)
        waiting = underway.numbers.keys() if underway is not None else given.keys()
        needed = live.keys() | waiting | {it.process for it in search.missing}
        self._forget(_ended_long_ago(given, rows, needed, now_ms))
        return search

    def _forget(self, names: list[str]) -> None:
        Processes(self.redis).forget(names)
        forget_processes(self.engine, names)

    def _rows(self, given: Container[str]) -> dict[str, ProcessNumbers]:
        """Return the processes that the ledger knows: this cell's, and those in `given`."""
        rows = {it.process: it for it in read_processes(self.engine)}
        return {it: row for it, row in rows.items() if cell_of(it) == self.cell or it in given}

    @property
    def _admission_ms(self) -> int:
        """How long a request may take until its open record is in Redis, in ms."""
        return int(_REDIS_WAITS * self.redis_timeout_s * 1000)

    def _underway(self, records: OpenRecords) -> Underway | None:
        """Return what waits in Redis; None if it is too much to read."""
        events = EventStream(self.redis)
        opened = records.numbered()
        if events.backlog() > BACKLOG_LIMIT:
            return None
        on_their_way = [*opened, *events.numbered()]
        starts_ms = [it.started_at_ms for it in on_their_way if it.started_at_ms]
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        for it in chain(on_their_way, DeadLetterStream(self.redis).numbered()):
            if it.key is not None:
                numbers[it.key[0]].add(it.key[1])
        return Underway(numbers, min(starts_ms, default=None))

    def _note_given(
        self,
        given: Mapping[str, int],
        live: Container[str],
        rows: Mapping[str, ProcessNumbers],
        now_ms: int,
    ) -> None:
        """Tell the ledger what processes have given, if that is news: an older backup has less."""
        news = {
            name: number
            for name, number in given.items()
            if name not in rows
            or rows[name].given < number
            or (name in live and rows[name].seen_ms < now_ms - SEEN_EVERY_MS)
        }
        note_given(self.engine, news, now_ms)


def cell_of(process: str) -> str:
    """Return the cell that a process belongs to, by its name."""
    cell, colon, _ = process.partition(":")
    return cell if colon else MAIN_CELL


def settled(search: Search | None, now_ms: int) -> tuple[Missing, ...]:
    """Return what has been missing for so long that nothing will send it any more by itself."""
    found = search.missing if search is not None else ()
    return tuple(it for it in found if it.found_ms <= now_ms - SETTLED_MS)


def _gaps(
    given: Mapping[str, int],
    rows: Mapping[str, ProcessNumbers],
    underway: Mapping[str, set[int]],
    now_ms: int,
) -> Iterator[Missing]:
    for process, last in sorted(given.items()):
        row = rows.get(process)
        posted, since_ms = (row.posted, row.since_ms) if row is not None else ((), now_ms)
        gaps = missing(posted, last, since_ms, now_ms)
        for gap in without(gaps, underway.get(process, ())):
            yield Missing(process, *gap, found_ms=now_ms)


def _since(before: Iterable[Missing], gap: Missing) -> Missing:
    """Return a gap with the time when a part of it was first found, and the bounds found then."""
    for known in before:
        if known.process == gap.process and known.first <= gap.last and gap.first <= known.last:
            return replace(gap, found_ms=known.found_ms, to_ms=min(gap.to_ms, known.to_ms))
    return gap


def _ended_long_ago(
    given: Iterable[str], rows: Mapping[str, ProcessNumbers], needed: Container[str], now_ms: int
) -> list[str]:
    """Return the processes that have shown no sign for KEPT_MS, and are not needed."""
    return [
        name
        for name in given
        if name not in needed and name in rows and rows[name].seen_ms < now_ms - KEPT_MS
    ]
