"""Segments: files of open records and events that outlive the process which wrote them.

A process writes `<owner>.<number><suffix>` and holds a lock on it, so that a file without a lock
belongs to a process that has ended, and may be adopted. A file gets its name only after it is
locked. It is read through its descriptor, so that it may be moved or removed at any time.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import orjson

Kind = Literal["open", "event"]
Line = tuple[Kind, bytes]

KINDS: tuple[Kind, ...] = ("open", "event")

_STARTS: dict[str, bytes] = {kind: b'{"%s":' % kind.encode() for kind in KINDS}

#: How much of a file is read at once, in bytes.
READ_BYTES = 1024 * 1024


class Segment:
    """One locked file; `owner` and `number` are those of its name."""

    def __init__(self, path: Path, file: int) -> None:
        self.path = path
        self.owner, self.number = place_of(path)
        self._file = file
        self._torn = False
        self.size_bytes = os.fstat(file).st_size

    @property
    def is_removed(self) -> bool:
        """Whether another program has removed or replaced the file."""
        return not _is_at(self._file, self.path)

    def append(self, lines: bytes, *, sync: bool) -> None:
        """Write complete lines; with `sync`, wait until they are on the disk.

        Raises: OSError; then a reader sees none, some or all of them.
        """
        if self._torn:  # an incomplete line precedes them: it must not spoil the first one
            lines = b"\n" + lines
        self._torn = True
        if os.write(self._file, lines) < len(lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if sync:
            os.fsync(self._file)
        self._torn = False
        self.size_bytes += len(lines)

    def lines(self) -> Iterator[Line]:
        """Yield the kind and the JSON object of each line; incomplete lines are left out.

        Only a line whose process crashed while writing it can be incomplete: its `append` has not
        returned.
        """
        file, at, rest = os.dup(self._file), 0, b""  # another thread may close the segment
        try:
            while data := os.pread(file, READ_BYTES, at):
                at += len(data)
                *complete, rest = (rest + data).split(b"\n")
                for raw in complete:
                    if (line := _parsed(raw)) is not None:
                        yield line
        finally:
            os.close(file)

    def remove(self) -> None:
        """Remove the file and its lock."""
        if not self.is_removed:
            self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Give up the lock; the file stays."""
        os.close(self._file)


def line_of(kind: Kind, payload: bytes) -> bytes:
    """Return the line of one JSON object."""
    return _STARTS[kind] + payload + b"}\n"


def begin(directory: Path, owner: str, number: int, suffix: str, *, sync: bool) -> Segment:
    """Return a new locked file; it gets its name once it is locked, and never loses its lock.

    With `sync`, wait until the name is on the disk.
    Raises: OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{owner}.{number}{suffix}"
    unnamed = directory / f".{path.name}"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    file = os.open(unnamed, flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.rename(unnamed, path)
        if sync:
            _sync_directory(directory)
    except BaseException:
        os.close(file)
        raise
    return Segment(path, file)


def orphans(directory: Path, owner: str, suffix: str) -> Iterator[tuple[Segment, ...]]:
    """Yield the locked files of each ended process but `owner`, in the order of writing.

    The caller removes or closes them. Nothing is yielded of a process whose files are not all free.
    Files of other users are skipped.
    """
    owners: dict[str, list[Path]] = {}
    for path in sorted(directory.glob(f"[!.]*{suffix}"), key=place_of):
        if place_of(path)[0] != owner:
            owners.setdefault(place_of(path)[0], []).append(path)
    for paths in owners.values():
        if all(map(is_ours, paths)) and (found := _all_locked(paths)):
            yield found


def _all_locked(paths: Iterable[Path]) -> tuple[Segment, ...]:
    """Return some files, locked; none of them if one is not free.

    Raises: OSError, such as for too many open files; then none stays locked.
    """
    with contextlib.ExitStack() as otherwise:
        found = []
        for path in paths:
            if (segment := lock(path)) is None:
                return ()
            otherwise.callback(segment.close)
            found.append(segment)
        otherwise.pop_all()
        return tuple(found)


def lock(path: Path) -> Segment | None:
    """Return a file, locked; None if another process holds it, or it has vanished.

    Raises: OSError, such as PermissionError for a file of another user.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:  # adopted by another process in the meantime
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(file, path):  # else it was adopted and removed before it was locked
            return Segment(path, file)
    except BlockingIOError:
        pass
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    return None


def is_ours(path: Path) -> bool:
    """Return whether this user can adopt a file."""
    return path.is_file() and os.access(path, os.R_OK | os.W_OK)


def place_of(path: Path) -> tuple[str, int]:
    """Return the owner and the number in a file's name."""
    owner, _, number = path.name.removesuffix(path.suffix).rpartition(".")
    return owner, int(number) if number.isdigit() else 0


def _parsed(raw: bytes) -> Line | None:
    try:
        ((kind, _),) = orjson.loads(raw).items()
    except (orjson.JSONDecodeError, AttributeError, ValueError):
        return None
    return (kind, raw[len(kind) + 4 : -1]) if kind in KINDS and raw.endswith(b"}") else None


def _is_at(file: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), path.stat())
    return False


def _sync_directory(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
