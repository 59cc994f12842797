"""Numbering: numbers the requests of one process without gaps: 1, 2, 3 …

Redis gives a request its number in the step that opens it, so that a rejected request takes none.
While Redis is down, the process gives the numbers itself.
"""

import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from app.settings import MAIN_CELL
from app.storage.redis.scripts import Argument


class Numbering:
    """The last number of one process, whose name is `process`."""

    def __init__(self, process: str) -> None:
        self.process = process
        self.last = 0
        self._lock = threading.Lock()

    def arguments(self) -> tuple[Argument, Argument]:
        """Return the arguments of `open_request.lua`, as they are at this moment.

        Redis gives numbers above `last`, even if it has lost its memory.
        """
        return self.process, self.last

    def given(self, number: int) -> None:
        """Take note of a number that Redis has given."""
        with self._lock:
            self.last = max(self.last, number)

    @contextmanager
    def giving(self) -> Iterator[int]:
        """Yield the next number, which is given unless the block fails; used without Redis."""
        with self._lock:
            yield self.last + 1
            self.last += 1


def new_process_name(cell: str) -> str:
    """Return a name for this process: unique, and it tells the cell, the host and the process."""
    prefix = "" if cell == MAIN_CELL else f"{cell}:"
    return f"{prefix}{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


class Opening(Struct, frozen=True):
    """A request that is to be opened.

    `opened` gets the request's number as soon as Redis has its record, and returns what is to be
    kept of it.
    """

    event_id: str
    record: bytes
    numbering: Numbering
    opened: Callable[[int], object]

    def arguments(self) -> tuple[Argument, ...]:
        """Return the arguments of `open_request.lua` after its keys."""
        return (self.event_id, self.record, *self.numbering.arguments())


def with_number(record: bytes, number: int) -> bytes:
    """Return an encoded open record with its number, as `open_request.lua` stores it."""
    return b'{"number":%d,%s' % (number, record[1:])
