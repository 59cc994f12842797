"""LiveRequests: the requests of this process that have not finished, and their open records."""

import time
from collections.abc import Iterator

from app.usage.messages.message import UndecodableMessage
from app.usage.messages.open_record import OpenRecord
from app.usage.recording.live_request import LiveRequest
from app.usage.redis.open_records import OpenRecords

#: A request younger than this gets no checkpoint, in seconds.
CHECKPOINT_AFTER_S = 5.0

#: Checkpoints made in one go: a few milliseconds, in which no stream moves.
CHECKPOINTS_AT_ONCE = 50

#: The most rejected requests that are remembered: more than wait for Redis when it goes down.
REJECTED_LIMIT = 10_000


class LiveRequests(dict[str, LiveRequest]):
    """The live requests by event id. Any thread may add and remove requests."""

    def __init__(self) -> None:
        super().__init__()
        self._rejected: dict[str, None] = {}

    def reject(self, event_id: str, *, is_open: bool) -> None:
        """Remove a request whose vendor is not called.

        `is_open`: Redis did not respond, and may have opened it, or do so later. It costs nothing.
        """
        del self[event_id]
        if is_open:
            self._rejected[event_id] = None
            while len(self._rejected) > REJECTED_LIMIT:
                self._rejected.pop(next(iter(self._rejected)), None)

    def oldest_ms(self) -> int | None:
        """Return the earliest start, in Unix ms; None if there is no request."""
        starts = (it.admission.started_at_ms for it in tuple(self.values()))
        return min(starts, default=None)

    def checkpoint(self, records: OpenRecords) -> None:
        """Store what requests of a certain age have used by now.

        Raises: StreamUnavailable.
        """
        young_ms = time.time_ns() // 1_000_000 - CHECKPOINT_AFTER_S * 1000
        old = [it for it in tuple(self.items()) if it[1].admission.started_at_ms < young_ms]
        for at in range(0, len(old), CHECKPOINTS_AT_ONCE):
            batch = old[at : at + CHECKPOINTS_AT_ONCE]
            records.update({name: it.checkpoint().encode() for name, it in batch})

    def reopen(self, records: OpenRecords) -> None:
        """Write the open records that Redis has lost.

        Raises: StreamUnavailable.
        """
        for event_id, request in tuple(self.items()):
            record = request.checkpoint()
            if record.number and record.owner:
                records.reopen(event_id, record.encode(), record.owner, record.number)
                if event_id not in self:  # it finished in this moment
                    records.close(event_id)

    def orphan_others(self, records: OpenRecords, owner: str) -> None:
        """Orphan the open records of this process, `owner`, whose requests have finished.

        A restored Redis may have lost its last second of writes: events, and the removal of their
        records. The reaper posts estimates, which the ledger ignores if it has the events.
        Raises: StreamUnavailable.
        """
        for event_id, record in _owned(records, owner):
            if event_id not in self:
                used = record.unused() if event_id in self._rejected else record
                records.update({event_id: used.disowned().encode()})


def _owned(records: OpenRecords, owner: str) -> Iterator[tuple[str, OpenRecord]]:
    for event_id, raw in records.all().items():
        try:
            record = OpenRecord.decode(raw)
        except UndecodableMessage:  # the reaper makes it a dead letter
            continue
        if record.owner == owner:
            yield event_id, record
