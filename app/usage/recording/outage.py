"""Outage: what a process knows of whether Redis takes its usage, and since when it does not.

Redis is up, full (it takes no events, and still counts limits) or down.
"""

import logging
import time
from pathlib import Path

from app.vocabulary.errors import StreamFull, StreamUnavailable

log = logging.getLogger(__name__)


class Outage:
    """The state of Redis as one process has last seen it."""

    def __init__(self, spool_directory: Path) -> None:
        self._spool_directory = spool_directory
        self.is_up = True
        self._is_full = False
        #: Why Redis took no usage: the `reason` of the last error.
        self.reason = StreamUnavailable.reason
        #: Start of the oldest request whose usage may be spooled, in Unix ms; None without any.
        self.since_ms: int | None = None

    def begin(self, exc: StreamUnavailable, oldest_ms: int | None) -> bool:
        """Note an error; return whether Redis has gone down by it.

        `oldest_ms` is the start of the oldest request in flight, in Unix ms; None without any.
        """
        self.reason = exc.reason
        is_full = isinstance(exc, StreamFull)
        if not self.is_up or (is_full and self._is_full):
            return False
        self._is_full, self.is_up = is_full, is_full
        if self.since_ms is None:
            self.since_ms = oldest_ms or time.time_ns() // 1_000_000
        log.error("%s; usage goes to the spool in %s", exc, self._spool_directory)
        return not is_full

    def took_event(self) -> None:
        """Note that Redis has room."""
        self._is_full = False
