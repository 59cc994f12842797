"""Recorder: has each request of a web process recorded, whether or not Redis is up.

Writes to Redis, or to the spool. Its thread does the work in `background`.
"""

import contextlib
import logging
import os
import threading
from pathlib import Path

from app.admission.limiter import Admission, Limiter
from app.admission.numbering import Numbering, Opening, new_process_name, with_number
from app.admission.reservations import Charge
from app.admission.unchecked import LEDGER_UNKNOWN, UncheckedRequests
from app.settings import MAIN_CELL
from app.usage.charge import charge_of
from app.usage.messages.event import UsageEvent
from app.usage.messages.open_record import OpenRecord
from app.usage.recording.background import Background
from app.usage.recording.checkpoints import Checkpoints
from app.usage.recording.fallback import SpoolFallback
from app.usage.recording.live_request import LiveRequest
from app.usage.recording.live_requests import LiveRequests
from app.usage.recording.outage import Outage
from app.usage.recording.replay import Replay
from app.usage.recording.second_copy import SecondCopy, entry_of_event, entry_of_record
from app.usage.redis.processes import OWNER_RENEWAL_S
from app.usage.redis.stores import Stores
from app.vocabulary.errors import LimitReached, StreamFull, StreamUnavailable

log = logging.getLogger(__name__)

#: How often Redis is tried again while it is down, in seconds.
RETRY_S = 0.5


class Recorder:
    """Opens requests and publishes their events.

    `directory` is for spool and journal. `serve_without_redis` False: while Redis is down, requests
    are rejected. `limiter` None: nothing is limited. `unchecked` counts requests without a check.
    """

    def __init__(
        self,
        stores: Stores,
        directory: Path,
        *,
        serve_without_redis: bool = True,
        keeps_journal: bool = True,
        cell: str = MAIN_CELL,
        limiter: Limiter | None = None,
        unchecked: UncheckedRequests | None = None,
    ) -> None:
        self._stores = stores
        self._directory = directory
        self._serve_without_redis = serve_without_redis
        self._keeps_journal = keeps_journal
        self._cell = cell
        self._limiter = limiter
        self._unchecked = unchecked
        self._live = LiveRequests()
        self._checkpoints = Checkpoints(stores.records, self._live)
        self._second_copy: SecondCopy | None = None
        self._outage = Outage(directory)
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid: int | None = None

    @property
    def owner(self) -> str:
        """The name of this process in Redis, where its heartbeats show that it is live."""
        if self._pid != os.getpid():  # on first use: a process may fork after it made this object
            self._start()
        return self._numbering.process

    def open(self, request: LiveRequest, record: OpenRecord) -> Admission:
        """Admit a request and write its open record, before its vendor is called.

        While Redis is down, nothing is limited. While it is full, limits still apply.
        Raises: LimitReached; StreamUnavailable if Redis is down and the request is not to be served
        without it, or cannot be spooled.
        """
        event_id, encoded = record.event_id, record.encode()
        self._live[event_id], is_asked = request, self._outage.is_up
        try:
            if is_asked:
                try:
                    return self._admit(request, encoded)
                except StreamUnavailable as exc:
                    self._mark_redis_down(exc)
            admission = self._spool(encoded)
        except BaseException as exc:  # also if the server kills this thread
            self._live.reject(event_id, is_open=is_asked and not isinstance(exc, LimitReached))
            raise
        if request.admission.limits:
            self._count_unchecked(self._outage.reason)
        return admission

    def _admit(self, request: LiveRequest, record: bytes) -> Admission:
        admission, numbering = request.admission, self._numbering
        event_id, opened = admission.event_id, entry_of_record(numbering, request, record)
        opening = Opening(event_id, record, numbering, opened)
        if self._limiter is not None and admission.limits:
            admitted = self._limiter.admit(admission, opening)
            if admitted.lacks_ledger:
                self._count_unchecked(LEDGER_UNKNOWN)
            return admitted
        return Admission(number=self._stores.records.open(opening))

    def _spool(self, record: bytes) -> Admission:
        with self._numbering.giving() as number:
            if not (
                self._serve_without_redis
                and self._fallback.write("open", with_number(record, number))
            ):
                raise StreamUnavailable("The usage of a request cannot be recorded just now.")
        return Admission(number=number)

    def _count_unchecked(self, reason: str) -> None:
        if self._unchecked is not None:
            self._unchecked.count(reason)

    def publish(self, event: UsageEvent) -> None:
        """Record what a request used. Never raises: the client already has the response."""
        is_published, encoded = False, event.encode()
        try:
            is_published = self._outage.is_up and self._publish(event, encoded)
        finally:  # also if the server kills this thread while it waits for Redis
            if not is_published:
                self._fallback.write_event(event.event_id, encoded)
            self._live.pop(event.event_id, None)

    def _publish(self, event: UsageEvent, encoded: bytes) -> bool:
        charge, entry = self._charge(event), entry_of_event(event, encoded)
        try:
            self._stores.events.publish_encoded(event.event_id, encoded, charge, entry)
        except StreamUnavailable as exc:
            self._mark_redis_down(exc)
            return isinstance(exc, StreamFull) and self._spool_and_settle(event, encoded, charge)
        return True

    def _spool_and_settle(self, event: UsageEvent, encoded: bytes, charge: Charge | None) -> bool:
        """Spool an event that Redis has no room for, then end its request in Redis."""
        if self._fallback.write_event(event.event_id, encoded):
            with contextlib.suppress(StreamUnavailable):  # then its replay does that
                self._stores.records.settle(event.event_id, charge)
        return True

    def _charge(self, event: UsageEvent) -> Charge | None:
        """Return the charge that replaces the request's reservation; None if it has no limits."""
        request = self._live.get(event.event_id)
        if self._limiter is None or request is None or not request.admission.limits:
            return None
        return charge_of(event, self._limiter.prices, request.cost())

    def note(self, event_id: str) -> None:
        """Have a request checkpointed soon: its vendor has reported a count.

        A crash must not lose the count. A request that finishes before its checkpoint costs Redis
        nothing.
        """
        self._checkpoints.note(event_id)

    def close(self) -> None:
        """End the thread, after it has replayed what it can. Nothing may be opened after this."""
        self._closing.set()
        self._wake.set()
        self._checkpoints.close()
        if self._thread is not None:
            self._thread.join()
        if self._second_copy is not None:
            self._second_copy.close()

    @property
    def oldest_spooled_ms(self) -> int | None:
        """Start of the oldest request whose event may be in this process's spool, in Unix ms."""
        waits = self._pid is not None and not self._fallback.is_empty
        return self._outage.since_ms if waits else None

    @property
    def journal_fault(self) -> str | None:
        """What is wrong with the second copy of what Redis has; None if nothing is."""
        copy = self._second_copy
        return copy.journal.fault if copy is not None else None

    def _start(self) -> None:
        with self._starting:
            if self._pid == os.getpid():
                return
            name = new_process_name(self._cell)
            self._numbering = Numbering(name)
            self._fallback = SpoolFallback(self._directory, name)
            self._checkpoints = Checkpoints(self._stores.records, self._live)
            if self._keeps_journal:
                self._second_copy = SecondCopy(
                    self._directory, self._numbering, self._stores, self._live
                )
            self._background = self._in_background()
            try:  # before the first record: a reaper would take its process for a crashed one
                self._background.first_heartbeat()
            except StreamUnavailable as exc:
                self._mark_redis_down(exc)
            self._pid = os.getpid()
            self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
            self._thread.start()

    def _in_background(self) -> Background:
        owner, live = self._numbering.process, self._live
        prices = self._limiter.prices if self._limiter else None
        return Background(
            self._stores,
            self._numbering,
            live=live,
            fallback=self._fallback,
            replay=Replay(self._stores, owner=owner, live=live, prices=prices),
            second_copy=self._second_copy,
            unchecked=self._unchecked,
            outage=self._outage,
        )

    def _mark_redis_down(self, exc: StreamUnavailable) -> None:
        """Keep all requests from waiting for Redis until the thread has reached it again.

        A Redis that is full is not down.
        """
        if self._outage.begin(exc, self._live.oldest_ms()):
            self._background.orphan_at_s = 0.0
            self._wake.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(OWNER_RENEWAL_S)
            self._wake.clear()
            while not self._heartbeat_and_replay() and not self._closing.wait(RETRY_S):
                pass

    def _heartbeat_and_replay(self) -> bool:
        """Do the background work once; return whether Redis is up."""
        try:
            self._background.run_once()
        except StreamUnavailable as exc:
            self._mark_redis_down(exc)
            self._fallback.write_unwritten()
        except Exception:
            log.exception("background recording failed; it is tried again")
        return self._outage.is_up
