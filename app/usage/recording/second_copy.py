"""SecondCopy: keeps what Redis has in a journal, and sends it again if Redis has lost it.

An event that is sent again although the ledger has it is a no-op there.
"""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from app.admission.numbering import Numbering, with_number
from app.usage.disk.adopted_journal import AdoptedJournal, adopt
from app.usage.disk.journal import Entry, Journal
from app.usage.disk.segments import Line
from app.usage.disk.unposted import Unposted
from app.usage.messages.event import UsageEvent
from app.usage.messages.message import UndecodableMessage
from app.usage.messages.numbered import numbered
from app.usage.messages.open_record import OpenRecord
from app.usage.missing import Missing
from app.usage.recording.live_request import LiveRequest
from app.usage.recording.live_requests import LiveRequests
from app.usage.redis.processes import Heartbeat
from app.usage.redis.stores import Stores

log = logging.getLogger(__name__)


class SecondCopy:
    """The journal of the process that `numbering` numbers, and those of ended processes beside it.

    `live` are the requests under way. Not thread-safe, except for the journal itself.
    """

    def __init__(
        self,
        directory: Path,
        numbering: Numbering,
        stores: Stores,
        live: LiveRequests,
    ) -> None:
        self.journal = Journal(directory, numbering.process, live.__contains__)
        stores.commit.keeper = self.journal.write
        self._directory = directory
        self._numbering = numbering
        self._stores = stores
        self._live = live
        self._adopted: list[AdoptedJournal] = []
        #: The Redis that had this process' data at its last heartbeat.
        self.memory: str | None = None
        self._tried: frozenset[Missing] = frozenset()

    @property
    def processes(self) -> set[str]:
        """The processes that this one has copies of, itself included."""
        adopted = (journal.unposted.processes for journal in self._adopted)
        return {self._numbering.process}.union(self.journal.processes, *adopted)

    def update(self, heartbeat: Heartbeat, last: int) -> None:
        """Remove what is posted; send what Redis has lost, and what ended processes left.

        `last` is the last number of this process when it sent the heartbeat.
        Raises: StreamUnavailable; the next call does the rest.
        """
        self.journal.renew()
        self.journal.forget(heartbeat.posted)
        for journal in self._adopted:
            journal.forget(heartbeat.posted)
        self._remove_posted()
        if self._has_lost(heartbeat, last):
            self._live.reopen(self._stores.records)
            missing = _numbers_of(heartbeat.missing)
            self._send([self.journal.unposted(missing), *(it.lines() for it in self._adopted)])
        self.memory, self._tried = heartbeat.memory, frozenset(heartbeat.missing)
        self._adopt()

    def close(self) -> None:
        """Leave what is not posted to the next process that uses the directory."""
        self._stores.commit.keeper = None
        self.journal.close()
        for journal in self._adopted:
            journal.close()

    def _has_lost(self, heartbeat: Heartbeat, last: int) -> bool:
        """Return whether Redis may have lost something that this process has a copy of."""
        if self.memory is not None and heartbeat.memory != self.memory:
            log.warning("this is another Redis, or one that was restarted: its data are checked")
            return True
        if heartbeat.known < last:
            log.warning("Redis knew fewer requests of this process than it opened")
            return True
        ours = self.processes
        new = [it for it in heartbeat.missing if it.process in ours and it not in self._tried]
        return bool(new)

    def _adopt(self) -> None:
        """Send what ended processes left in the directory, and hold it until it is posted."""
        for journal in adopt(self._directory, self._numbering.process):
            self._adopted.append(journal)
            about = journal.unposted.processes
            journal.forget(self._stores.processes.heartbeat(self._numbering, about=about).posted)
            self._send([journal.lines()])
        self._remove_posted()

    def _remove_posted(self) -> None:
        for journal in [it for it in self._adopted if not it.unposted]:
            self._adopted.remove(journal)
            journal.remove()

    def _send(self, copies: Iterable[Iterable[Line]]) -> None:
        """Send what is neither posted nor in Redis."""
        waiting, sent = self._stores.events.numbers(), 0
        for lines in copies:
            for kind, payload in lines:
                it = numbered(payload)
                if it is None or it.key in waiting:
                    continue
                if kind == "event":
                    self._stores.events.publish_encoded(it.event_id, payload)
                    sent += 1
                else:
                    self._reopen(payload)
                if it.key is not None:
                    self._stores.processes.raise_given(*it.key)
        if sent:
            log.warning("%s events were sent to Redis again", sent)

    def _reopen(self, payload: bytes) -> None:
        try:
            record = OpenRecord.decode(payload)
        except UndecodableMessage:
            log.exception("an open record in the journal cannot be decoded")
            return
        process = record.process_name or ""
        self._stores.records.reopen(
            record.event_id, payload, record.started_at_ms, process, record.number
        )


def _numbers_of(missing: Iterable[Missing]) -> Unposted:
    numbers = Unposted()
    for gap in missing:
        for number in range(gap.first, gap.last + 1):
            numbers.add(gap.process, number)
    return numbers


def entry_of_record(
    numbering: Numbering, request: LiveRequest, record: bytes
) -> Callable[[int], Entry]:
    """Return what is kept of a request that was opened, once its number is known."""
    event_id = request.admission.event_id

    def opened(number: int) -> Entry:
        numbering.given(number)
        return Entry("open", event_id, numbering.process, number, with_number(record, number))

    return opened


def entry_of_event(event: UsageEvent, encoded: bytes) -> Entry | None:
    """Return what is kept of a published event; None if its request has no number."""
    if event.process is None or not event.number:
        return None
    return Entry("event", event.event_id, event.process, event.number, encoded)
