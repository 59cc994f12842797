"""Recorder: how a web process has each of its requests recorded, whatever Redis does.

Redis first; the spool where Redis will not. Owns the thread that gives signs of life, writes down
how far long requests have come, and replays the spool.
"""

import logging
import os
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import Protocol

import orjson

from app.admission.limiter import UNLIMITED, Admission, AdmissionRequest, Limiter
from app.admission.reservations import NOTHING, Charge
from app.usage.charge import charge_of
from app.usage.checkpoints import Checkpoints
from app.usage.event import UndecodableEvent, UsageEvent
from app.usage.redis.open_records import OWNER_RENEWAL_S, OpenRecords
from app.usage.redis.stream import EventStream
from app.usage.spool import Kind, Spool, read
from app.vocabulary.errors import LimitReached, StreamUnavailable

log = logging.getLogger(__name__)

#: How often Redis is asked whether it is back, while it is away, in seconds.
RETRY_S = 0.5

#: How often the open records are searched for some of ours that have ended, in seconds.
DISOWN_EVERY_S = 60.0

#: A request younger than this is not worth a line on how far it has come, in seconds.
CHECKPOINT_AFTER_S = 5.0

#: Those that are written down in one go: a few milliseconds, in which no stream moves.
CHECKPOINTS_AT_ONCE = 50


class MeteredRequest(AdmissionRequest, Protocol):
    """A request that is being counted."""

    def record_of_opening(self, owner: str) -> bytes:
        """Return what is known before the vendor is called, as a JSON object."""
        ...

    def checkpoint(self, owner: str) -> bytes:
        """Return what is known by now, as a JSON object."""
        ...


class Recorder:
    """Opens requests and publishes their events.

    `serve_without_redis` False: without Redis, a request is refused instead of spooled.
    `limiter` None: nothing is limited.
    """

    def __init__(
        self,
        events: EventStream,
        records: OpenRecords,
        spool_directory: Path,
        *,
        serve_without_redis: bool = True,
        limiter: Limiter | None = None,
    ) -> None:
        self._events = events
        self._records = records
        self._spool_directory = spool_directory
        self._serve_without_redis = serve_without_redis
        self._limiter = limiter
        self._live: dict[str, MeteredRequest] = {}
        #: Events that neither Redis nor the spool has taken: event id -> the event.
        self._unwritten: dict[str, bytes] = {}
        self._spool_is_usable = True
        self._redis_is_up = True
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid: int | None = None
        self._checkpoints = Checkpoints(records, self._live, "")

    @property
    def owner(self) -> str:
        """The name by which Redis knows this process to be alive, as long as it is."""
        if self._pid != os.getpid():  # not before: a process may fork after it made this
            self._start()
        return self._owner

    def open(self, request: MeteredRequest) -> Admission:
        """Admit a request and write that down, before its vendor is called.

        Without Redis, nothing is limited.
        Raises: LimitReached; StreamUnavailable, only without Redis: where requests are not served
        then, or where the spool takes nothing either.
        """
        record = request.record_of_opening(self.owner)
        self._live[request.event_id] = request
        if self._redis_is_up:
            try:
                return self._admit(request, record)
            except StreamUnavailable as exc:
                self._lost(exc)
            except LimitReached:
                del self._live[request.event_id]
                raise
        if not (self._serve_without_redis and self._spooled("open", record)):
            del self._live[request.event_id]
            raise StreamUnavailable("The usage of a request cannot be recorded just now.")
        return UNLIMITED

    def _admit(self, request: MeteredRequest, record: bytes) -> Admission:
        if self._limiter is not None and request.limits:
            return self._limiter.admit(request, record)
        self._records.open(request.event_id, record, request.started_at_ms)
        return UNLIMITED

    def publish(self, event: UsageEvent) -> None:
        """Record what a request used. Never raises: the caller has the answer already."""
        told = False
        try:
            told = self._redis_is_up and self._told(event)
        finally:  # also when the server kills this thread while it waits for Redis
            if not told:
                self._spool_event(event)
            self._live.pop(event.event_id, None)

    def _told(self, event: UsageEvent) -> bool:
        try:
            self._events.publish(event, self._spent(event))
        except StreamUnavailable as exc:
            self._lost(exc)
            return False
        return True

    def _spool_event(self, event: UsageEvent) -> None:
        encoded = event.encode()
        if not self._spooled("event", encoded):
            self._unwritten[event.event_id] = encoded
            # The whole event: nothing else has it, should this process end before it is written.
            log.error("usage event not recorded, for now: %s", encoded.decode())

    def _spooled(self, kind: Kind, payload: bytes) -> bool:
        """Write to the spool; return whether it is there."""
        try:
            self._spool.append(kind, payload)
        except OSError as exc:
            if self._spool_is_usable:
                log.error("nothing can be written to %s: %s", self._spool_directory, exc.strerror)  # noqa: TRY400 - one line
            self._spool_is_usable = False
        else:
            self._spool_is_usable = True
        return self._spool_is_usable

    def _spent(self, event: UsageEvent) -> Charge | None:
        """Return what a request's reservation gives way to; None where it can have none."""
        request = self._live.get(event.event_id)
        if self._limiter is None or request is None or not request.limits:
            return None
        return charge_of(event, self._limiter.prices)

    def note(self, request: MeteredRequest) -> None:
        """Write down soon how far a request has come: its vendor has counted what a crash must not
        lose. One that ends before costs nothing.
        """
        self._checkpoints.note(request)

    def close(self) -> None:
        """End the thread, once it has told Redis what it can; nothing may be opened after this."""
        self._closing.set()
        self._wake.set()
        self._checkpoints.close()
        if self._thread is not None:
            self._thread.join()

    @property
    def oldest_spooled_ms(self) -> int | None:
        """When the oldest request started whose event may be in this process' spool, Unix ms."""
        waits = self._pid and (self._unwritten or not self._spool.is_empty)
        return self._down_since_ms if waits else None

    _down_since_ms: int | None = None
    _disown_at_s = 0.0

    def _start(self) -> None:
        with self._starting:
            if self._pid == os.getpid():
                return
            self._owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
            self._spool = Spool(self._spool_directory, self._owner)
            try:  # before the first record: a reaper must not take it for a dead process'
                self._records.heartbeat(self._owner)
            except StreamUnavailable as exc:
                self._lost(exc)
            self._pid = os.getpid()
            self._checkpoints = Checkpoints(self._records, self._live, self._owner)
            self._thread = threading.Thread(target=self._keep, name="recorder", daemon=True)
            self._thread.start()

    def _lost(self, exc: StreamUnavailable) -> None:
        """From now on nothing waits for Redis, until the thread has had an answer from it."""
        if not self._redis_is_up:
            return
        self._redis_is_up = False
        self._disown_at_s = 0.0
        if self._down_since_ms is None:
            oldest = min((r.started_at_ms for r in tuple(self._live.values())), default=None)
            self._down_since_ms = oldest or time.time_ns() // 1_000_000
        log.error("%s; usage goes to the spool in %s", exc, self._spool_directory)
        self._wake.set()

    def _keep(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(OWNER_RENEWAL_S)
            self._wake.clear()
            while not self._heartbeat_and_replay() and not self._closing.wait(RETRY_S):
                pass

    def _heartbeat_and_replay(self) -> bool:
        """Give a sign of life and catch up on what Redis missed; return whether it answers."""
        try:
            self._records.heartbeat(self._owner)
            self._redis_is_up = True
            self._checkpoint()
            self._replay()
            self._orphan_finished_records()
        except StreamUnavailable as exc:
            self._lost(exc)
            self._spool_unwritten()
        except Exception:
            log.exception("recorder could not keep its books; it tries again")
        return self._redis_is_up

    def _checkpoint(self) -> None:
        young_ms = time.time_ns() // 1_000_000 - CHECKPOINT_AFTER_S * 1000
        old = [r for r in tuple(self._live.values()) if r.started_at_ms < young_ms]
        for at in range(0, len(old), CHECKPOINTS_AT_ONCE):
            batch = old[at : at + CHECKPOINTS_AT_ONCE]
            self._records.update({r.event_id: r.checkpoint(self._owner) for r in batch})

    def _orphan_finished_records(self) -> None:
        """Leave to the reaper what is open in our name and has ended.

        A Redis that was restored has lost its last second: events that it had taken, and that
        their records had gone. An estimate is better than nothing, and no second entry where the
        event had reached the ledger.
        """
        now_s = time.monotonic()
        if now_s < self._disown_at_s:
            return
        self._disown_at_s = now_s + DISOWN_EVERY_S
        for event_id, raw in self._records.all().items():
            if self._owner.encode() in raw and event_id not in self._live:
                disowned = {**orjson.loads(raw), "owner": None}
                self._records.update({event_id: orjson.dumps(disowned)})

    def _spool_unwritten(self) -> None:
        """Write down what could not be written before, if the spool takes it by now."""
        for event_id, encoded in tuple(self._unwritten.items()):
            if not self._spooled("event", encoded):
                return
            self._unwritten.pop(event_id, None)

    def _replay(self) -> None:
        """Tell Redis what it has missed: this process' own first, then what dead ones left.

        A crash in between repeats events, which is a no-op in the ledger.
        """
        for event_id, encoded in tuple(self._unwritten.items()):
            self._events.publish_encoded(event_id, encoded, self._spent_by(encoded))
            self._unwritten.pop(event_id, None)
        for path in self._spool.segments():
            log.info("%s events of %s replayed", self._tell(path), path.name)
        if self._spool.is_empty and not self._unwritten:
            self._down_since_ms = None
        for paths in self._spool.orphans():
            for path in paths:
                log.warning("%s events adopted from %s", self._tell(path), path.name)

    def _tell(self, path: Path) -> int:
        told, opened = 0, dict[str, bytes]()
        for kind, payload in read(path):
            event_id = str(orjson.loads(payload).get("event_id"))
            if kind == "open":
                opened[event_id] = payload
                continue
            self._events.publish_encoded(event_id, payload, self._spent_by(payload))
            opened.pop(event_id, None)
            told += 1
        for event_id, payload in opened.items():
            self._reopen(event_id, payload)
        return told

    def _spent_by(self, payload: bytes) -> Charge | None:
        """Return the same for an event out of a spool, whoever wrote it."""
        if self._limiter is None:
            return None
        try:
            return charge_of(UsageEvent.decode(payload), self._limiter.prices)
        except UndecodableEvent:
            return NOTHING

    def _reopen(self, event_id: str, record: bytes) -> None:
        """Open a request in Redis that began without it, unless it has ended since.

        One of a dead process stays open: the reaper finds it. If its event was published
        nevertheless, the ledger has it, and takes no second one.
        """
        fields = orjson.loads(record)
        ours = fields.get("owner") == self._owner
        if ours and event_id not in self._live:
            return
        self._records.open(event_id, record, int(fields.get("started_at_ms") or 0))
        if ours and event_id not in self._live:  # it ended in this very moment
            self._records.close(event_id)
