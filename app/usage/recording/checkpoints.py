"""Checkpoints that cannot wait: what a vendor has counted of a request that still runs.

A crash must not lose the count. A request that finishes within the pause costs Redis nothing.
"""

import logging
import threading
from collections.abc import Mapping

from app.usage.recording.live_request import LiveRequest
from app.usage.redis.open_records import OpenRecords
from app.vocabulary.errors import StreamUnavailable

#: How long a noted request waits for others, to be written together with them, in seconds.
PAUSE_S = 0.25

log = logging.getLogger(__name__)


class Checkpoints:
    """Writes noted requests of `live` (by event id) into their open records, in its own thread."""

    def __init__(self, records: OpenRecords, live: Mapping[str, LiveRequest]) -> None:
        self._records = records
        self._live = live
        self._noted: set[str] = set()
        self._news = threading.Event()
        self._closing = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def note(self, event_id: str) -> None:
        """Have a request checkpointed soon. The first call starts the thread, after any fork."""
        self._noted.add(event_id)
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
        live = {name: it for name in noted if (it := self._live.get(name)) is not None}
        try:
            self._records.update({name: it.checkpoint().encode() for name, it in live.items()})
        except StreamUnavailable:  # the next regular checkpoint is due in seconds
            log.warning("%s checkpoints were not written: Redis is unavailable", len(live))
        except Exception:
            log.exception("%s checkpoints were not written", len(live))
