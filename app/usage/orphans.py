"""Orphans: open records of this process whose requests have finished, handed to the reaper.

A restored Redis may have lost its last second of writes: events, and the removal of their records.
"""

import time
from collections.abc import Container

from msgspec.structs import replace

from app.usage.messages.message import UndecodableMessage
from app.usage.messages.open_record import OpenRecord
from app.usage.redis.open_records import OpenRecords

#: How often a process looks for open records of its finished requests, in seconds.
ORPHAN_EVERY_S = 60.0


class Orphans:
    """Finds the orphaned records of the process `owner`, whose unfinished requests are `live`."""

    def __init__(self, records: OpenRecords, live: Container[str]) -> None:
        self._records = records
        self._live = live
        self._due_s = 0.0

    def be_due(self) -> None:
        """Have the next call of `disown` look, because Redis may have been restored."""
        self._due_s = 0.0

    def disown(self, owner: str) -> None:
        """Remove the owner's name from these records, every ORPHAN_EVERY_S seconds.

        The reaper posts estimates, which the ledger ignores if it has the events.
        Raises: StreamUnavailable.
        """
        now_s = time.monotonic()
        if now_s < self._due_s:
            return
        self._due_s = now_s + ORPHAN_EVERY_S
        for event_id, raw in self._records.all().items():
            if owner.encode() in raw and event_id not in self._live:
                self._disown(owner, event_id, raw)

    def _disown(self, owner: str, event_id: str, raw: bytes) -> None:
        try:
            record = OpenRecord.decode(raw)
        except UndecodableMessage:  # the reaper makes it a dead letter
            return
        if record.owner == owner:
            self._records.update({event_id: replace(record, owner=None).encode()})
