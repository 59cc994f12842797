"""Checkpoints that cannot wait: what a vendor has counted of a request that still goes on.

A crash is not to cost it. A request that ends within the pause costs Redis nothing.
"""

import logging
import threading
from collections.abc import Mapping
from typing import Protocol

from app.usage.redis.open_records import OpenRecords
from app.vocabulary.errors import StreamUnavailable

#: How long news wait for others to be written with, in seconds.
PAUSE_S = 0.25

log = logging.getLogger(__name__)


class Noted(Protocol):
    """A request that is being counted."""

    @property
    def event_id(self) -> str:
        """The identity of its event."""
        ...

    def checkpoint(self, owner: str) -> bytes:
        """Return what is known by now, as a JSON object."""
        ...


class Checkpoints:
    """Writes noted requests of `live` into their open records, from a thread of its own."""

    def __init__(self, records: OpenRecords, live: Mapping[str, Noted], owner: str) -> None:
        self._records = records
        self._live = live
        self._owner = owner
        self._noted: set[str] = set()
        self._news = threading.Event()
        self._closing = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def note(self, request: Noted) -> None:
        """Have a request written down soon; the first one starts the thread, after any fork."""
        self._noted.add(request.event_id)
        self._news.set()
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._run, name="checkpoints", daemon=True
                    )
                    self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._news.wait()
            self._closing.wait(PAUSE_S)
            self._news.clear()
            self._write()

    def _write(self) -> None:
        noted = [self._noted.pop() for _ in range(len(self._noted))]
        live = [request for name in noted if (request := self._live.get(name)) is not None]
        try:
            self._records.update({r.event_id: r.checkpoint(self._owner) for r in live})
        except StreamUnavailable:  # the next checkpoint is due in seconds
            log.warning("%s checkpoints were not written: Redis does not answer", len(live))
        except Exception:
            log.exception("%s checkpoints were not written", len(live))
