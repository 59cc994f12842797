"""Which requests of each process the ledger has, so that a missing one is a fact.

The numbers are noted in the transaction that posts their events, whether or not the ledger had
these events before. Does not know how a process got its numbers.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, RowMapping, bindparam, delete, select, update

from app.storage.sql.tables import processes
from app.storage.sql.transactions import insert, reading, write
from app.usage.messages.event import UsageEvent
from app.usage.missing import Missing
from app.usage.numbers import (
    NumberRange,
    Ranges,
    count,
    decode_ranges,
    encode_ranges,
    merged,
    with_numbers,
)

#: Process -> numbers of its requests -> when they started, in Unix ms.
Numbers = Mapping[str, Mapping[int, int]]


#: How long what is known of a process is kept after its end, in ms: a backup that is restored
#: within this time shows what it lacks.
KEPT_MS = 35 * 86_400_000


@dataclass(frozen=True, slots=True)
class ProcessNumbers:
    """A process: the last number it gave, as far as it is known here, and those that are posted.

    `posted` includes `written_off` numbers that were never posted. It was first seen at `since_ms`
    and last at `seen_ms`, in Unix ms.
    """

    process: str
    given: int
    posted: Ranges
    written_off: int
    since_ms: int
    seen_ms: int

    @property
    def is_complete(self) -> bool:
        """Whether the ledger has every request that the process is known to have opened."""
        return count(self.posted) >= self.given


def numbers_of(events: Iterable[UsageEvent]) -> Numbers:
    """Return the numbers of events, those of repeated ones included."""
    numbers: dict[str, dict[int, int]] = {}
    for event in events:
        if event.process is not None and event.number:
            numbers.setdefault(event.process, {})[event.number] = event.started_at_ms
    return numbers


def note_posted(connection: Connection, numbers: Numbers) -> None:
    """Note posted numbers, in the transaction that posts them; repeats change nothing."""
    if not numbers:
        return
    known = _locked(connection, numbers)
    kept_ms = time.time_ns() // 1_000_000 - KEPT_MS
    since = {name: min(numbers[name].values()) for name in numbers.keys() - known.keys()}
    # Of a process that is forgotten, nothing is known to be missing.
    known |= _added(connection, {name: at for name, at in since.items() if at >= kept_ms})
    rows = []
    for name, row in sorted(known.items()):
        posted = with_numbers(row.posted, numbers[name].items())
        rows.append(
            {
                "name": name,
                "given": max(row.given, posted[-1].last),
                "posted": encode_ranges(posted),
                "seen_ms": max(row.seen_ms, posted[-1].last_ms),
            }
        )
    _update(connection, rows, "given", "posted", "seen_ms")


def note_given(engine: Engine, given: Mapping[str, int], now_ms: int) -> None:
    """Note the last numbers that live processes have given by now, in Unix ms.

    Raises: LedgerUnavailable.
    """

    def work(connection: Connection) -> None:
        known = _locked(connection, given)
        known |= _added(connection, dict.fromkeys(given.keys() - known.keys(), now_ms))
        rows = [
            {
                "name": name,
                "given": max(row.given, given[name]),
                "seen_ms": max(row.seen_ms, now_ms),
            }
            for name, row in sorted(known.items())
        ]
        _update(connection, rows, "given", "seen_ms")

    if given:
        write(engine, work)


def read_processes(engine: Engine) -> list[ProcessNumbers]:
    """Return all processes.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        rows = connection.execute(select(processes).order_by(processes.c.process))
        return [_of(row) for row in rows.mappings()]


def write_off(engine: Engine, missing: Iterable[Missing]) -> int:
    """Count missing requests as posted from now on; return how many.

    Raises: LedgerUnavailable, nothing written off.
    """
    by_process: dict[str, list[Missing]] = {}
    for it in missing:
        by_process.setdefault(it.process, []).append(it)

    def work(connection: Connection) -> int:
        total, rows = 0, []
        for name, row in sorted(_locked(connection, by_process).items()):
            lost = (NumberRange(it.first, it.last, it.from_ms, it.to_ms) for it in by_process[name])
            posted = merged(row.posted, lost)
            added = count(posted) - count(row.posted)
            total += added
            rows.append(
                {
                    "name": name,
                    "given": max(row.given, posted[-1].last),
                    "posted": encode_ranges(posted),
                    "written_off": row.written_off + added,
                }
            )
        _update(connection, rows, "given", "posted", "written_off")
        return total

    return write(engine, work)


def forget_processes(engine: Engine, names: Iterable[str]) -> None:
    """Remove processes that ended long ago.

    Raises: LedgerUnavailable.
    """
    gone = sorted(names)
    if gone:
        statement = delete(processes).where(processes.c.process.in_(gone))
        write(engine, lambda connection: connection.execute(statement))


def _locked(connection: Connection, names: Iterable[str]) -> dict[str, ProcessNumbers]:
    wanted = processes.c.process.in_(sorted(names))
    query = select(processes).where(wanted).order_by(processes.c.process).with_for_update()
    return {row["process"]: _of(row) for row in connection.execute(query).mappings()}


def _of(row: RowMapping) -> ProcessNumbers:
    return ProcessNumbers(**{**row, "posted": decode_ranges(row["posted"])})


def _added(connection: Connection, since_ms: Mapping[str, int]) -> dict[str, ProcessNumbers]:
    """Add processes that were first seen at a time, in Unix ms; return them, locked."""
    if not since_ms:
        return {}
    rows = [
        {
            "process": name,
            "given": 0,
            "posted": encode_ranges(()),
            "written_off": 0,
            "since_ms": since_ms[name],
            "seen_ms": since_ms[name],
        }
        for name in sorted(since_ms)
    ]
    connection.execute(insert(connection, processes).on_conflict_do_nothing(), rows)
    return _locked(connection, since_ms)


def _update(connection: Connection, rows: list[dict[str, object]], *names: str) -> None:
    if rows:
        statement = update(processes).where(processes.c.process == bindparam("name"))
        connection.execute(statement.values({name: bindparam(name) for name in names}), rows)
