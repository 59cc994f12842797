"""SecondCopy: keeps what Redis has in a journal, and sends it again if Redis has lost it.

An event that is sent again although the ledger has it is a no-op there.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from itertools import chain
from pathlib import Path

from app.admission.numbering import Numbering, with_number
from app.usage.disk.adopted_journal import AdoptedJournal, adopt
from app.usage.disk.journal import Entry, Journal
from app.usage.disk.segments import Line
from app.usage.messages.event import UsageEvent
from app.usage.messages.message import UndecodableMessage
from app.usage.messages.numbered import numbered
from app.usage.messages.open_record import OpenRecord
from app.usage.missing import Missing
from app.usage.numbers import NumberRange, Ranges, merged
from app.usage.recording.live_request import LiveRequest
from app.usage.recording.live_requests import LiveRequests
from app.usage.recording.pulse import Pulse
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
        self._pulse = Pulse(stores.processes, numbering.process, spools=False)
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
        if self._has_lost(heartbeat, last):  # before anything is forgotten: it may be an estimate
            self._live.reopen(self._stores.records)
            ours = self.processes
            copies = [self.journal.unposted(_ranges_of(heartbeat.missing, ours))]
            self._send([*copies, *(it.lines() for it in self._adopted)], ours)
        self.memory, self._tried = heartbeat.memory, frozenset(heartbeat.missing)
        self.journal.forget(heartbeat.posted)
        for journal in self._adopted:
            journal.forget(heartbeat.posted)
        self._remove_posted()
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
        """Send what ended processes left in the directory, and hold it until it is posted.

        All of it is sent once: what the ledger has of these processes may be estimates.
        """
        for journal in adopt(self._directory, self._numbering.process):
            try:
                self._send([journal.lines()], journal.unposted.processes)
            except BaseException:  # it is adopted again
                journal.close()
                raise
            self._adopted.append(journal)

    def _remove_posted(self) -> None:
        for journal in [it for it in self._adopted if not it.unposted]:
            self._adopted.remove(journal)
            journal.remove()

    def _send(self, copies: Iterable[Iterable[Line]], processes: Container[str]) -> None:
        """Send what is not in Redis, of some processes."""
        sent, last = 0, dict[str, int]()
        waiting = self._stores.events.waiting_of(processes)
        for kind, payload in chain.from_iterable(copies):
            it = numbered(payload)
            if it is None or it.key is None or it.key in waiting:
                continue
            self._pulse.beat()
            if kind == "event":
                self._stores.events.publish_encoded(it.event_id, payload)
                sent += 1
            else:
                self._reopen(payload)
            process, number = it.key
            last[process] = max(number, last.get(process, 0))
        for process, number in last.items():
            self._stores.processes.raise_given(process, number)
        if sent:
            log.warning("%s events were sent to Redis again", sent)

    def _reopen(self, payload: bytes) -> None:
        try:
            record = OpenRecord.decode(payload)
        except UndecodableMessage:
            log.exception("an open record in the journal cannot be decoded")
            return
        process = record.process_name or ""
        self._stores.records.reopen(record.event_id, payload, process, record.number)


def _ranges_of(missing: Iterable[Missing], processes: Container[str]) -> dict[str, Ranges]:
    """Return the missing numbers of some processes."""
    found: defaultdict[str, list[NumberRange]] = defaultdict(list)
    for it in missing:
        if it.process in processes:
            found[it.process].append(NumberRange(it.first, it.last, it.from_ms, it.to_ms))
    return {process: merged((), ranges) for process, ranges in found.items()}


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
