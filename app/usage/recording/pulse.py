"""Pulse: heartbeats during work that takes longer than the time between two."""

import time

from app.usage.redis.processes import OWNER_RENEWAL_S, Processes


class Pulse:
    """Keeps the process `owner` live; `spools` while its events wait in its spool."""

    def __init__(self, processes: Processes, owner: str, *, spools: bool) -> None:
        self._processes = processes
        self._owner = owner
        self._spools = spools
        self._due_s = 0.0

    def beat(self) -> None:
        """Send a heartbeat if it is due.

        Raises: StreamUnavailable.
        """
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._processes.keep_alive(self._owner, spools=self._spools)
            self._due_s = now_s + OWNER_RENEWAL_S
