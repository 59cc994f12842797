"""Recorder: has each request of a web process recorded, whether or not Redis is up.

Writes to Redis, and to the spool while Redis is down. Its thread sends heartbeats, checkpoints long
requests, and replays the spool.
"""

import contextlib
import logging
import os
import secrets
import socket
import threading
import time
from pathlib import Path

from app.admission.limiter import UNLIMITED, Admission, Limiter
from app.admission.reservations import Charge
from app.admission.unchecked import LEDGER_UNKNOWN, UncheckedRequests
from app.usage.charge import charge_of
from app.usage.checkpoints import Checkpoints
from app.usage.fallback import SpoolFallback
from app.usage.live_request import LiveRequest
from app.usage.messages.event import UsageEvent
from app.usage.messages.open_record import OpenRecord
from app.usage.orphans import Orphans
from app.usage.outage import Outage
from app.usage.redis.open_records import OWNER_RENEWAL_S, OpenRecords
from app.usage.redis.stream import EventStream
from app.usage.replay import Replay
from app.vocabulary.errors import LimitReached, StreamFull, StreamUnavailable

log = logging.getLogger(__name__)

#: How often Redis is tried again while it is down, in seconds.
RETRY_S = 0.5

#: A request younger than this gets no checkpoint, in seconds.
CHECKPOINT_AFTER_S = 5.0

#: Checkpoints made in one go: a few milliseconds, in which no stream moves.
CHECKPOINTS_AT_ONCE = 50


class Recorder:
    """Opens requests and publishes their events.

    `serve_without_redis` False: while Redis is down, requests are rejected instead of spooled.
    `limiter` None: nothing is limited. `unchecked` counts the requests whose limits were not
    checked.
    """

    def __init__(
        self,
        events: EventStream,
        records: OpenRecords,
        spool_directory: Path,
        *,
        serve_without_redis: bool = True,
        limiter: Limiter | None = None,
        unchecked: UncheckedRequests | None = None,
    ) -> None:
        self._events = events
        self._records = records
        self._spool_directory = spool_directory
        self._serve_without_redis = serve_without_redis
        self._limiter = limiter
        self._unchecked = unchecked
        self._live: dict[str, LiveRequest] = {}
        self._checkpoints = Checkpoints(records, self._live)
        self._outage = Outage(spool_directory)
        self._orphans = Orphans(records, self._live)
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
        return self._owner

    def open(self, request: LiveRequest, record: OpenRecord) -> Admission:
        """Admit a request and write its open record, before its vendor is called.

        While Redis is down, nothing is limited. While it is full, limits still apply.
        Raises: LimitReached; StreamUnavailable if Redis is down and the request is not to be served
        without it, or cannot be spooled.
        """
        event_id, encoded = record.event_id, record.encode()
        self._live[event_id] = request
        if self._outage.is_up:
            try:
                return self._admit(request, encoded)
            except StreamUnavailable as exc:
                self._mark_redis_down(exc)
            except LimitReached:
                del self._live[event_id]
                raise
        if not (self._serve_without_redis and self._fallback.write("open", encoded)):
            del self._live[event_id]
            raise StreamUnavailable("The usage of a request cannot be recorded just now.")
        if request.admission.limits:
            self._count_unchecked(self._outage.reason)
        return UNLIMITED

    def _admit(self, request: LiveRequest, record: bytes) -> Admission:
        admission = request.admission
        if self._limiter is not None and admission.limits:
            admitted = self._limiter.admit(admission, record)
            if admitted.lacks_ledger:
                self._count_unchecked(LEDGER_UNKNOWN)
            return admitted
        self._records.open(admission.event_id, record, admission.started_at_ms)
        return UNLIMITED

    def _count_unchecked(self, reason: str) -> None:
        if self._unchecked is not None:
            self._unchecked.count(reason)

    def publish(self, event: UsageEvent) -> None:
        """Record what a request used. Never raises: the client already has the response."""
        is_published = False
        try:
            is_published = self._outage.is_up and self._publish(event)
        finally:  # also if the server kills this thread while it waits for Redis
            if not is_published:
                self._fallback.write_event(event)
            self._live.pop(event.event_id, None)

    def _publish(self, event: UsageEvent) -> bool:
        charge = self._charge(event)
        try:
            self._events.publish(event, charge)
        except StreamUnavailable as exc:
            self._mark_redis_down(exc)
            return isinstance(exc, StreamFull) and self._spool_and_settle(event, charge)
        return True

    def _spool_and_settle(self, event: UsageEvent, charge: Charge | None) -> bool:
        """Spool an event that Redis has no room for, then end its request in Redis."""
        if self._fallback.write_event(event):
            with contextlib.suppress(StreamUnavailable):  # then its replay does that
                self._records.settle(event.event_id, charge)
        return True

    def _charge(self, event: UsageEvent) -> Charge | None:
        """Return the charge that replaces the request's reservation; None if it has no limits."""
        request = self._live.get(event.event_id)
        if self._limiter is None or request is None or not request.admission.limits:
            return None
        return charge_of(event, self._limiter.prices)

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

    @property
    def oldest_spooled_ms(self) -> int | None:
        """Start of the oldest request whose event may be in this process's spool, in Unix ms."""
        waits = self._pid is not None and not self._fallback.is_empty
        return self._outage.since_ms if waits else None

    def _start(self) -> None:
        with self._starting:
            if self._pid == os.getpid():
                return
            self._owner = owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
            self._fallback = SpoolFallback(self._spool_directory, owner)
            self._checkpoints = Checkpoints(self._records, self._live)
            prices = self._limiter.prices if self._limiter else None
            self._replay = Replay(
                self._events, self._records, owner=owner, live=self._live, prices=prices
            )
            try:  # before the first record: a reaper would take its process for a crashed one
                self._records.heartbeat(owner)
            except StreamUnavailable as exc:
                self._mark_redis_down(exc)
            self._pid = os.getpid()
            self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
            self._thread.start()

    def _mark_redis_down(self, exc: StreamUnavailable) -> None:
        """Keep all requests from waiting for Redis until the thread has reached it again.

        A Redis that is full is not down.
        """
        started_ms = (it.admission.started_at_ms for it in tuple(self._live.values()))
        if self._outage.begin(exc, started_ms):
            self._orphans.be_due()
            self._wake.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(OWNER_RENEWAL_S)
            self._wake.clear()
            while not self._heartbeat_and_replay() and not self._closing.wait(RETRY_S):
                pass

    def _heartbeat_and_replay(self) -> bool:
        """Send a heartbeat and what Redis has missed; return whether Redis is up."""
        try:
            self._records.heartbeat(self._owner)
            self._outage.is_up = True
            if self._unchecked is not None:
                self._unchecked.report()
            self._checkpoint_long_requests()
            self._events.check_write()  # a full Redis gets no replay
            self._outage.took_event()
            self._replay.run(self._fallback)
            if self._fallback.is_empty:
                self._outage.since_ms = None
            self._replay.adopt(self._fallback)
            self._orphans.disown(self._owner)
        except StreamUnavailable as exc:
            self._mark_redis_down(exc)
            self._fallback.write_unwritten()
        except Exception:
            log.exception("background recording failed; it is tried again")
        return self._outage.is_up

    def _checkpoint_long_requests(self) -> None:
        young_ms = time.time_ns() // 1_000_000 - CHECKPOINT_AFTER_S * 1000
        old = [it for it in tuple(self._live.items()) if it[1].admission.started_at_ms < young_ms]
        for at in range(0, len(old), CHECKPOINTS_AT_ONCE):
            batch = old[at : at + CHECKPOINTS_AT_ONCE]
            self._records.update({name: it.checkpoint().encode() for name, it in batch})
