"""Which alarms were logged, so that each is logged once when it is raised, and when it clears."""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

#: More than the names of all alarms take, in bytes.
_SIZE = 65_536


class RaisedAlarms:
    """The names of the alarms that were raised at the last check.

    Those of one process; with `file`, an open descriptor, of all processes that inherited it.
    """

    def __init__(self, file: int | None = None) -> None:
        self._file = file
        self._names: frozenset[str] = frozenset()

    def replace(self, names: Iterable[str]) -> tuple[list[str], list[str]]:
        """Note what is raised now; return what is new, and what has cleared."""
        now = frozenset(names)
        with self._locked():
            before = self._read()
            self._write(now)
        return sorted(now - before), sorted(before - now)

    def _read(self) -> frozenset[str]:
        if self._file is None:
            return self._names
        return frozenset(json.loads(os.pread(self._file, _SIZE, 0) or b"[]"))

    def _write(self, names: frozenset[str]) -> None:
        self._names = names
        if self._file is not None:
            text = json.dumps(sorted(names)).encode()
            os.ftruncate(self._file, len(text))
            os.pwrite(self._file, text, 0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._file is None:
            yield
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
