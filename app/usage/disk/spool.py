"""Spool: what could not be sent to Redis, in files that outlive the process.

A process writes `<owner>.<number>.jsonl` and holds a lock on it, so that a file without a lock
belongs to a crashed process and may be adopted. Each line is complete and on the disk before
`append` returns. Does not know how the lines are used.
"""

import contextlib
import errno
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

Kind = Literal["open", "event"]

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
        self._file: int | None = None
        self._path = Path()
        self._size = 0
        self._number = 0
        self._torn = False
        self._closed: list[tuple[Path, int]] = []

    @property
    def is_empty(self) -> bool:
        """Whether this process has no file."""
        return self._file is None and not self._closed

    def append(self, kind: Kind, payload: bytes) -> None:
        """Write one JSON object, and wait until it is on the disk.

        Raises: OSError; then it is not stored.
        """
        line = b'{"%s":%s}\n' % (kind.encode(), payload)
        with self._lock:
            file = self._begun()
            if self._torn:  # an incomplete line precedes it: it must not spoil this one
                line = b"\n" + line
            self._torn = True
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
            self._torn = False
            self._size += len(line)
            if self._size >= SEGMENT_BYTES:
                self._end(file)

    def segments(self) -> Iterator[Path]:
        """Yield this process's files in the order of writing; each is removed after its turn.

        Lines that are appended in the meantime go to a new file, which comes last.
        """
        with self._lock:
            if self._file is not None:
                self._end(self._file)
        while self._closed:
            path, file = self._closed[0]
            yield path if os.fstat(file).st_nlink else Path(f"/dev/fd/{file}")  # it was removed
            path.unlink(missing_ok=True)
            os.close(file)
            self._closed.pop(0)

    def orphans(self) -> Iterator[tuple[Path, ...]]:
        """Yield the files of each crashed process in the order of writing, then remove them.

        They are locked in the meantime, so that only one process adopts them. Files of other users
        are skipped.
        """
        owners: dict[str, list[Path]] = {}
        for path in sorted(self._directory.glob(f"*{SUFFIX}"), key=_place):
            owner = _place(path)[0]
            if owner != self._owner:
                owners.setdefault(owner, []).append(path)
        for paths in owners.values():
            if not all(map(_is_ours, paths)):
                continue
            with contextlib.ExitStack() as stack:
                if all(stack.enter_context(_locked(path)) for path in paths):
                    yield tuple(paths)
                    for path in paths:
                        path.unlink(missing_ok=True)

    def _begun(self) -> int:
        """Return the file to write to; a new one if the present one has been removed."""
        if self._file is not None and os.fstat(self._file).st_nlink == 0:
            self._end(self._file)
        return self._file if self._file is not None else self._begin()

    def _begin(self) -> int:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._number += 1
        self._path = self._directory / f"{self._owner}.{self._number}{SUFFIX}"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        file = os.open(self._path, flags, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        _sync_directory(self._directory)
        self._file, self._size, self._torn = file, 0, False
        return file

    def _end(self, file: int) -> None:
        self._closed.append((self._path, file))
        self._file = None


def read(path: Path) -> Iterator[tuple[Kind, bytes]]:
    """Yield the kind and the JSON object of each line of a file; incomplete lines are left out.

    Only a line whose process crashed while writing it can be incomplete: its `append` has not
    returned.
    """
    with path.open("rb") as file:
        for line in file:
            try:
                ((kind, _),) = orjson.loads(line).items()
            except (orjson.JSONDecodeError, AttributeError, ValueError):
                continue
            if kind in ("open", "event") and line.endswith(b"}\n"):
                yield kind, line[len(kind) + 4 : -2]


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
    return sum(not _is_ours(path) and path.exists() for path in directory.glob(f"*{SUFFIX}"))


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
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        with contextlib.suppress(FileNotFoundError), _locked(path) as is_orphan:
            found.append(SpoolFile(path, path.stat().st_size, is_orphan))
    return found


def spooled_bytes(directory: Path) -> int:
    """Return the size of all spool files in a directory, in bytes."""
    size = 0
    for path in directory.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):  # just replayed, or not accessible
            size += path.stat().st_size
    return size


def _is_ours(path: Path) -> bool:
    return path.is_file() and os.access(path, os.R_OK | os.W_OK)


def _place(path: Path) -> tuple[str, int]:
    owner, _, number = path.name.removesuffix(SUFFIX).rpartition(".")
    return owner, int(number) if number.isdigit() else 0


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold a file's lock if no other process does; yield whether it is held."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:  # adopted by another process in the meantime
        yield False
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield path.exists()
    except BlockingIOError:
        yield False
    finally:
        os.close(file)


def _sync_directory(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
