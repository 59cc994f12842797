"""Journal: the second copy of what one process has sent to Redis, until the ledger has it.

A segment holds events, and the open records of requests that had not finished when it was begun or
written to. Open records of ended processes, which this one found in their spool, are kept as events
are. It is removed once all its events are posted. Nothing is synced to the disk: a copy is
lost only if the machine loses its memory together with Redis.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from app.usage.disk import segments
from app.usage.disk.segments import Kind, Line, Segment, line_of
from app.usage.disk.unposted import Unposted
from app.usage.messages.numbered import Numbered, numbered
from app.usage.numbers import Ranges, contains

#: Size at which a segment is closed and the next one begun, in bytes: some 7,000 events.
SEGMENT_BYTES = 8 * 1024 * 1024

#: The most that one process keeps, in bytes: some 200,000 events. Beyond it, the oldest segment is
#: removed, and Redis has the only copy of its events.
JOURNAL_BYTES = 256 * 1024 * 1024

SUFFIX = ".journal"

NOTHING: Mapping[str, Ranges] = MappingProxyType({})

log = logging.getLogger(__name__)


class Entry(Struct, frozen=True, gc=False):
    """An event or an open record of the request `number` of a process."""

    kind: Kind
    event_id: str
    process: str
    number: int
    payload: bytes


@dataclass(slots=True)
class _Part:
    segment: Segment
    events: Unposted = field(default_factory=Unposted)


class Journal:
    """The journal of one process.

    `is_live`: whether a request, by event id, has not finished; its open record is then copied into
    each new segment.
    """

    def __init__(self, directory: Path, owner: str, is_live: Callable[[str], bool]) -> None:
        self._directory = directory
        self._owner = owner
        self._is_live = is_live
        self._lock = threading.Lock()
        self._number = 0
        self._parts: list[_Part] = []
        self._opened: dict[str, bytes] = {}
        self._disk_fault: str | None = None
        #: Process -> the highest number of its events that were removed before they were posted.
        self._dropped: dict[str, int] = {}

    @property
    def fault(self) -> str | None:
        """What is wrong with the second copy; None if nothing is."""
        if self._disk_fault is not None:
            return f"nothing can be written to it ({self._disk_fault})"
        return "it is full, and its oldest events were removed" if self._dropped else None

    def write(self, entries: list[Entry]) -> None:
        """Write entries in one step. If the disk rejects them, Redis has the only copy."""
        with self._lock:
            try:
                self._write(entries)
            except OSError as exc:
                self._failed(exc)
            else:
                self._disk_fault = None

    def _write(self, entries: list[Entry]) -> None:
        part = self._present()
        for it in entries:
            if it.kind == "event":
                self._opened.pop(it.event_id, None)
            elif it.process == self._owner:
                self._opened[it.event_id] = it.payload
        part.segment.append(b"".join([line_of(it.kind, it.payload) for it in entries]), sync=False)
        for it in entries:
            if it.kind == "event" or it.process != self._owner:
                part.events.add(it.process, it.number)

    def forget(self, posted: Mapping[str, Ranges]) -> None:
        """Remove the segments whose events are all posted, except the one that is written to."""
        with self._lock:
            self._forget_dropped(posted)
            for part in self._parts:
                part.events.forget(posted)
            for part in [it for it in self._parts[:-1] if not it.events]:
                self._remove(part)

    def unposted(self, also: Mapping[str, Ranges] = NOTHING) -> Iterator[Line]:
        """Yield the events, and others' open records, that the ledger may not have, in order.

        `also`: those that it had, and has no more.
        """
        with self._lock:
            parts = list(self._parts)
        for part in parts:
            for kind, payload in part.segment.lines():
                it = numbered(payload)
                is_ours = it is not None and (it.process or it.owner) == self._owner
                if kind == "open" and is_ours:  # its request is under way, or has an event
                    continue
                if part.events.holds(it) or _is_in(also, it):
                    yield kind, payload

    @property
    def processes(self) -> set[str]:
        """The processes whose events it holds."""
        with self._lock:
            return {process for part in self._parts for process in part.events.processes}

    def close(self) -> None:
        """Remove the files if everything in them is posted; else leave them to be adopted."""
        with self._lock:
            is_needed = any(part.events for part in self._parts) or any(
                map(self._is_live, self._opened)
            )
            for part in self._parts:
                if is_needed:
                    part.segment.close()
                else:
                    part.segment.remove()
            self._parts.clear()

    @property
    def _is_oversized(self) -> bool:
        return sum(part.segment.size_bytes for part in self._parts) > JOURNAL_BYTES

    def _present(self) -> _Part:
        """Return the part to write to; a new one if there is none, or it is full."""
        if not self._parts or self._parts[-1].segment.size_bytes >= SEGMENT_BYTES:
            self._begin()
            if self._is_oversized:
                self._drop(self._parts[0])
        return self._parts[-1]

    def _begin(self) -> None:
        self._number += 1
        segment = segments.begin(self._directory, self._owner, self._number, SUFFIX, sync=False)
        self._parts.append(_Part(segment))
        self._opened = {name: it for name, it in self._opened.items() if self._is_live(name)}
        lines = [line_of("open", record) for record in self._opened.values()]
        segment.append(b"".join(lines), sync=False)

    def renew(self) -> None:
        """Begin a new segment if another program has removed the present one."""
        with self._lock:
            if self._parts and self._parts[-1].segment.is_removed:
                try:
                    self._begin()
                except OSError as exc:
                    self._failed(exc)

    def _remove(self, part: _Part) -> None:
        self._parts.remove(part)
        part.segment.remove()

    def _drop(self, part: _Part) -> None:
        if not self._dropped:
            log.error("the journal in %s is full: its oldest events are removed", self._directory)
        for process, last in part.events.last().items():
            self._dropped[process] = max(last, self._dropped.get(process, 0))
        self._remove(part)

    def _forget_dropped(self, posted: Mapping[str, Ranges]) -> None:
        """Forget the processes whose dropped events are all posted."""
        for process, last in tuple(self._dropped.items()):
            ranges = posted.get(process, ())
            if ranges and ranges[0].first == 1 and ranges[0].last >= last:
                del self._dropped[process]

    def _failed(self, exc: OSError) -> None:
        fault = exc.strerror or type(exc).__name__
        if self._disk_fault is None:
            log.error("nothing can be written to the journal in %s: %s", self._directory, fault)
        self._disk_fault = fault


def _is_in(ranges: Mapping[str, Ranges], it: Numbered | None) -> bool:
    if it is None or it.key is None:
        return False
    process, number = it.key
    return contains(ranges.get(process, ()), number)
