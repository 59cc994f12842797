"""Background: what a web process does for its requests' usage besides the requests themselves.

It sends heartbeats, checkpoints, what is in the spool, and what Redis has lost.
"""

import time

from app.admission.numbering import Numbering
from app.admission.unchecked import UncheckedRequests
from app.usage.recording.fallback import SpoolFallback
from app.usage.recording.live_requests import LiveRequests
from app.usage.recording.outage import Outage
from app.usage.recording.replay import Replay
from app.usage.recording.second_copy import SecondCopy
from app.usage.redis.processes import Heartbeat
from app.usage.redis.stores import Stores

#: How often this process looks for open records of its finished requests, in seconds.
ORPHAN_EVERY_S = 60.0


class Background:
    """The background work of the process that `numbering` numbers; not thread-safe."""

    def __init__(
        self,
        stores: Stores,
        numbering: Numbering,
        *,
        live: LiveRequests,
        fallback: SpoolFallback,
        replay: Replay,
        second_copy: SecondCopy | None,
        unchecked: UncheckedRequests | None,
        outage: Outage,
    ) -> None:
        self._stores = stores
        self._numbering = numbering
        self._live = live
        self._fallback = fallback
        self._replay = replay
        self._second_copy = second_copy
        self._unchecked = unchecked
        self._outage = outage
        #: When to look for orphans, in monotonic seconds.
        self.orphan_at_s = 0.0

    def first_heartbeat(self) -> None:
        """Say that this process is live, and take note of the Redis that has heard it.

        Raises: StreamUnavailable.
        """
        heartbeat = self._heartbeat()
        if self._second_copy is not None:
            self._second_copy.memory = heartbeat.memory

    def run_once(self) -> None:
        """Send a heartbeat and what Redis has missed.

        Raises: StreamUnavailable; the next call does the rest.
        """
        last, heartbeat = self._numbering.last, self._heartbeat()
        self._outage.is_up = True
        if self._unchecked is not None:
            self._unchecked.report()
        self._live.checkpoint(self._stores.records)
        self._stores.events.check_write()  # a full Redis gets no replay
        self._outage.took_event()
        self._replay.run(self._fallback)
        if self._fallback.is_empty:
            self._outage.since_ms = None
        self._replay.adopt(self._fallback)
        if self._second_copy is not None:
            self._second_copy.update(heartbeat, last)
        if (now_s := time.monotonic()) >= self.orphan_at_s:
            self.orphan_at_s = now_s + ORPHAN_EVERY_S
            self._live.orphan_others(self._stores.records, self._numbering.process)

    def _heartbeat(self) -> Heartbeat:
        return self._stores.processes.heartbeat(
            self._numbering,
            spools=not self._fallback.is_empty,
            about=self._second_copy.processes if self._second_copy is not None else (),
        )
