"""Spool: what could not be sent to Redis, in segments. Each line is on the disk before `append`
returns. Does not know how the lines are used.
"""

import contextlib
import errno
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.usage.disk import segments
from app.usage.disk.segments import Kind, Segment, is_ours, line_of, lock, place_of

#: Size at which a file is closed and the next one begun, in bytes.
SEGMENT_BYTES = 64 * 1024 * 1024

SUFFIX = ".jsonl"

#: Size of the temporary file that finds out whether there is room, in bytes.
PROBE_BYTES = 4096


class Spool:
    """The spool of one process, and the orphaned files in the same directory."""

    def __init__(self, directory: Path, owner: str) -> None:
        self._directory = directory
        self._owner = owner
        self._lock = threading.Lock()
        self._number = 0
        self._present: Segment | None = None
        self._closed: list[Segment] = []

    @property
    def is_empty(self) -> bool:
        """Whether this process has no file."""
        return self._present is None and not self._closed

    def append(self, kind: Kind, payload: bytes) -> None:
        """Write one JSON object, and wait until it is on the disk.

        Raises: OSError; then it is not stored.
        """
        with self._lock:
            segment = self._writable()
            segment.append(line_of(kind, payload), sync=True)
            if segment.size_bytes >= SEGMENT_BYTES:
                self._end()

    def segments(self) -> Iterator[Segment]:
        """Yield this process's files in the order of writing; each is removed after its turn.

        Lines that are appended in the meantime go to a new file, which comes last.
        """
        with self._lock:
            self._end()
        while self._closed:
            yield self._closed[0]
            self._closed.pop(0).remove()

    def orphans(self) -> Iterator[tuple[Segment, ...]]:
        """Yield the files of each crashed process in the order of writing, then remove them.

        They are locked in the meantime, so that only one process adopts them. Files of other users
        are skipped.
        """
        for found in segments.orphans(self._directory, self._owner, SUFFIX):
            end = Segment.close
            try:
                yield found
                end = Segment.remove
            finally:
                for segment in found:
                    end(segment)

    def _writable(self) -> Segment:
        """Return the file to write to; a new one if the present one has been removed."""
        if self._present is not None and self._present.is_removed:
            self._end()
        if self._present is None:
            self._number += 1
            self._present = segments.begin(
                self._directory, self._owner, self._number, SUFFIX, sync=True
            )
        return self._present

    def _end(self) -> None:
        if self._present is not None:
            self._closed.append(self._present)
            self._present = None


def spool_fault(directory: Path) -> str | None:
    """Return why a spool cannot be written in a directory; None if it can."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            if file.write(bytes(PROBE_BYTES)) < PROBE_BYTES:
                return os.strerror(errno.ENOSPC)
    except OSError as exc:
        return exc.strerror or type(exc).__name__
    return None


def foreign_files(directory: Path) -> int:
    """Count the files in a directory that this user cannot adopt."""
    return sum(not is_ours(path) and path.exists() for path in directory.glob(f"[!.]*{SUFFIX}"))


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """A spool file; `is_orphan` if its process has exited."""

    path: Path
    size_bytes: int
    is_orphan: bool


def spool_files(directory: Path) -> list[SpoolFile]:
    """Return the spool files of all processes in a directory.

    Raises: OSError; PermissionError for a file of another user.
    """
    found = []
    for path in sorted(directory.glob(f"[!.]*{SUFFIX}"), key=place_of):
        with contextlib.suppress(FileNotFoundError):
            size, segment = path.stat().st_size, lock(path)
            if segment is not None:
                segment.close()
            found.append(SpoolFile(path, size, is_orphan=segment is not None))
    return found


def spooled_bytes(directory: Path) -> int:
    """Return the size of all spool files in a directory, in bytes."""
    size = 0
    for path in directory.glob(f"[!.]*{SUFFIX}"):
        with contextlib.suppress(OSError):  # just replayed, or not accessible
            size += path.stat().st_size
    return size
