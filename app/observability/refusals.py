"""Refusals: counts the requests of a web process that are refused before any vendor is called.

A refusal costs an addition in memory. A thread reports to Redis within FLUSH_S, and repeats a
report that Redis may not have taken, which counts it once. `kill -9` loses what was not reported.
"""

import logging
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Mapping

from app.observability.metrics.metrics import Metrics
from app.usage.redis.refusal_counts import RefusalCounts
from app.usage.refusal import Refusal
from app.vocabulary.errors import StreamUnavailable
from app.vocabulary.request import Endpoint

log = logging.getLogger(__name__)

#: How long a refusal waits for the next report, in seconds.
FLUSH_S = 1.0
#: The most kinds in one report; the others are counted as `other`.
LIMIT = 2000

#: Route -> the endpoint whose refusals are counted.
ENDPOINTS: Mapping[str, Endpoint] = {
    "/v5/completions": "completions",
    "/v5/chat/completions": "chat.completions",
}

_HOUR_S = 3600


class Refusals:
    """The counts of one process; thread-safe."""

    def __init__(self, counts: RefusalCounts, metrics: Metrics) -> None:
        self._counts = counts
        self._metrics = metrics
        self._lock = threading.Lock()
        self._waiting = Counter[Refusal]()
        self._report: Counter[Refusal] | None = None
        self._reports = 0
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._process, self._pid = "", 0

    def count(
        self, reason: str, endpoint: str = "", account_id: str = "", api_key_id: str = ""
    ) -> None:
        """Count a refused request. Never waits, and never raises for Redis."""
        hour_s = int(time.time()) // _HOUR_S * _HOUR_S
        refusal = Refusal(hour_s, account_id, api_key_id, endpoint, reason)
        with self._lock:
            if refusal not in self._waiting and len(self._waiting) >= LIMIT:
                refusal = refusal.other
            self._waiting[refusal] += 1
        self._metrics.refused(endpoint, reason)
        if self._pid != os.getpid():  # on first use: a process may fork after it made this object
            self._start()
        self._wake.set()

    def flush(self) -> None:
        """Report what was counted since the last report.

        Raises: StreamUnavailable; the next call reports the same again, and then the rest.
        """
        if self._report is None:
            with self._lock:
                self._report, self._waiting = self._waiting, Counter()
            self._reports += 1
        if self._report:
            self._counts.add(self._process, self._reports, self._report)
        self._report = None

    def close(self) -> None:
        """Report what is left, and end the thread."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        try:
            for _ in range(2):  # a report that is repeated, and what was counted since
                self.flush()
        except StreamUnavailable:
            lost = (self._waiting + (self._report or Counter())).total()
            log.warning("Redis is unavailable: %s refused requests are not counted", lost)

    def _start(self) -> None:
        with self._lock:
            if self._pid == os.getpid():
                return
            self._pid, self._process = os.getpid(), secrets.token_hex(8)
            self._thread = threading.Thread(target=self._run, name="refusals", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.wait()
            self._closing.wait(FLUSH_S)
            self._wake.clear()
            try:
                self.flush()
            except StreamUnavailable:
                self._wake.set()
            except Exception:
                log.exception("counts of refused requests are not reported; it is tried again")
