"""Replay: sends Redis the open records and events that were spooled while it was down.

A crash during a replay repeats events, which is a no-op in the ledger.
"""

import logging
from collections.abc import Container
from pathlib import Path

from app.admission.reservations import NOTHING, Charge
from app.pricing.price_book import PriceBook
from app.usage.charge import charge_of
from app.usage.disk.journal import Entry
from app.usage.disk.segments import Kind, Segment
from app.usage.messages.event import UsageEvent
from app.usage.messages.event_id import new_event_id
from app.usage.messages.message import UndecodableMessage, json_object
from app.usage.messages.numbered import numbered
from app.usage.messages.open_record import OpenRecord
from app.usage.recording.fallback import SpoolFallback
from app.usage.redis.stores import Stores
from app.vocabulary.errors import StreamFull

log = logging.getLogger(__name__)


class Replay:
    """Replays for the process `owner`, whose unfinished requests are `live`.

    `prices` None: nothing is limited, so no limit is charged.
    """

    def __init__(
        self,
        stores: Stores,
        *,
        owner: str,
        live: Container[str],
        prices: PriceBook | None,
    ) -> None:
        self._stores = stores
        self._owner = owner
        self._live = live
        self._prices = prices
        #: File -> how many of its events are in a Redis that has become full since.
        self._published: dict[Path, int] = {}

    def run(self, fallback: SpoolFallback) -> None:
        """Replay everything of this process.

        Raises: StreamUnavailable; the rest stays where it is.
        """
        for event_id, encoded in tuple(fallback.unwritten.items()):
            self._publish(event_id, encoded)
            fallback.unwritten.pop(event_id, None)
        for segment in fallback.spool.segments():
            log.info("%s events of %s replayed", self._replay_file(segment), segment.path.name)

    def adopt(self, fallback: SpoolFallback) -> None:
        """Replay the files that crashed processes left in the same directory.

        Raises: StreamUnavailable; the rest stays where it is.
        """
        for segments in fallback.spool.orphans():
            for segment in segments:
                count = self._replay_file(segment)
                log.warning("%s events adopted from %s", count, segment.path.name)

    def _replay_file(self, segment: Segment) -> int:
        """Publish a file's events, then open its requests that have no event; count the events.

        If Redis becomes full, the next call goes on where this one stops. Otherwise, a file that is
        larger than the room that workers make would begin again and again.
        """
        published, opened = 0, dict[str, bytes]()
        before = self._published.pop(segment.path, 0)
        for kind, payload in segment.lines():
            event_id = str(json_object(payload).get("event_id"))
            if kind == "open":
                opened[event_id] = payload
                continue
            if published >= before:
                try:
                    self._publish(event_id, payload)
                except StreamFull:
                    self._published[segment.path] = published
                    raise
            opened.pop(event_id, None)
            published += 1
        for payload in opened.values():
            self._reopen(payload)
        return published

    def _publish(self, event_id: str, encoded: bytes) -> None:
        """Publish an event, and keep it."""
        entry = _entry("event", event_id, encoded)
        self._stores.events.publish_encoded(event_id, encoded, self._charge(encoded), entry)
        if entry is not None and entry.process != self._owner:
            self._stores.processes.raise_given(entry.process, entry.number)

    def _charge(self, encoded: bytes) -> Charge | None:
        if self._prices is None:
            return None
        try:
            return charge_of(UsageEvent.decode(encoded), self._prices)
        except UndecodableMessage:
            return NOTHING

    def _reopen(self, raw: bytes) -> None:
        """Open a request in Redis that started while it was down, unless it has finished since.

        A request of a crashed process stays open for the reaper. If its event was published after
        all, the ledger has it and ignores the reaper's.
        """
        records = self._stores.records
        try:
            record = OpenRecord.decode(raw)
        except UndecodableMessage:  # another version's: the reaper makes it a dead letter
            records.reopen(new_event_id(), raw, 0, "", 0)
            return
        is_ours = record.owner == self._owner
        if is_ours and record.event_id not in self._live:
            return
        process, started_at_ms = record.process_name or "", record.started_at_ms
        keep = _entry("open", record.event_id, raw)
        records.reopen(record.event_id, raw, started_at_ms, process, record.number, keep=keep)
        if is_ours and record.event_id not in self._live:  # it finished in this moment
            records.close(record.event_id)


def _entry(kind: Kind, event_id: str, payload: bytes) -> Entry | None:
    """Return what is kept of a line, whose file is removed before the ledger has its request."""
    it = numbered(payload)
    key = it.key if it is not None else None
    return Entry(kind, event_id, *key, payload) if key is not None else None
