"""SpoolFallback: where open records and events go while Redis is down.

An event that the spool cannot store either is logged, and stays in memory until it is written.
"""

import logging
from pathlib import Path

from app.usage.disk.segments import Kind
from app.usage.disk.spool import Spool
from app.usage.recording.event_log import event_messages

log = logging.getLogger(__name__)


class SpoolFallback:
    """The spool of one process, and the events that could not be written to it."""

    def __init__(self, directory: Path, owner: str) -> None:
        self.spool = Spool(directory, owner)
        #: Events that neither Redis nor the spool has stored, by event id.
        self.unwritten: dict[str, bytes] = {}
        self._directory = directory
        self._is_usable = True

    @property
    def is_empty(self) -> bool:
        """Whether nothing of this process waits for Redis."""
        return self.spool.is_empty and not self.unwritten

    def write(self, kind: Kind, payload: bytes) -> bool:
        """Write one JSON object to the spool; return whether it is stored."""
        try:
            self.spool.append(kind, payload)
        except OSError as exc:
            if self._is_usable:
                log.error("nothing can be written to %s: %s", self._directory, exc.strerror)  # noqa: TRY400 - one line
            self._is_usable = False
        else:
            self._is_usable = True
        return self._is_usable

    def write_event(self, event_id: str, encoded: bytes) -> bool:
        """Write an event to the spool; if that fails, log it and keep it in memory.

        Returns whether it is in the spool.
        """
        if not (is_stored := self.write("event", encoded)):
            self.unwritten[event_id] = encoded
            # The whole event: the log has the only copy if this process ends before it is written.
            for message in event_messages(event_id, encoded):
                log.error("%s", message)
        return is_stored

    def write_unwritten(self) -> None:
        """Write the events in memory to the spool, as far as it stores them."""
        for event_id, encoded in tuple(self.unwritten.items()):
            if not self.write("event", encoded):
                return
            self.unwritten.pop(event_id, None)
