"""A circuit breaker for each vendor entry, shared by all web processes through Redis.

Without Redis, all circuits are closed. Does not know why a call failed.
"""

import logging
import time
from typing import Any

from redis import Redis, RedisError

from app.storage.redis.scripts import EVEN_IF_FULL, Argument, Script, read_lua, run

#: Failures in a row that open a circuit; seconds that it stays open; seconds that failures count.
#: The first call afterwards is the half-open probe: one more failure opens the circuit again.
FAILURE_THRESHOLD = 10
OPEN_S = 30
FAILURE_COUNTS_S = 300

#: How long a process caches the set of open circuits, in seconds.
CACHE_S = 1.0

FAILURES = "circuit:failures:"
#: A sorted set: vendor entry -> the time at which its circuit closes, in Unix seconds.
UNTIL = "circuit:until"

#: A full Redis counts failures, too: there are two keys for each vendor entry.
RECORD_FAILURE = Script(EVEN_IF_FULL + read_lua(__package__, "record_failure"))

log = logging.getLogger(__name__)


class CircuitBreaker:
    """Opens and closes circuits. Its methods never raise: without it, requests still work."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        self._open: frozenset[str] = frozenset()
        self._read_at_s = float("-inf")
        self._failing: set[str] = set()

    def open_circuits(self) -> frozenset[str]:
        """Return the names of the vendor entries whose circuit is open, at most CACHE_S old."""
        now_s = time.monotonic()
        if now_s - self._read_at_s >= CACHE_S:
            self._read_at_s = now_s
            try:
                found: Any = self._redis.zrangebyscore(UNTIL, time.time(), "+inf")
                self._open = frozenset(name.decode() for name in found)
            except (RedisError, OSError):
                log.warning("open circuits cannot be read from Redis; all count as closed")
                self._open = frozenset()
        return self._open

    def record_failure(self, vendor: str) -> None:
        """Count a failure, and open the circuit after FAILURE_THRESHOLD failures in a row."""
        self._failing.add(vendor)
        try:
            args: list[Argument] = [
                vendor,
                FAILURE_COUNTS_S,
                FAILURE_THRESHOLD,
                time.time() + OPEN_S,
            ]
            failures: Any = run(self._redis, RECORD_FAILURE, [FAILURES + vendor, UNTIL], args)
            if failures >= FAILURE_THRESHOLD:
                log.warning(
                    "circuit of %s is open for %s s: %s failures in a row", vendor, OPEN_S, failures
                )
        except (RedisError, OSError):
            log.warning("a failure of %s was not counted: Redis does not respond", vendor)

    def record_success(self, vendor: str) -> None:
        """Reset the failure count; no Redis call if this process has recorded no failure."""
        if vendor not in self._failing:
            return
        self._failing.discard(vendor)
        try:
            self._redis.delete(FAILURES + vendor)
        except (RedisError, OSError):
            log.warning("failures of %s were not reset: Redis does not respond", vendor)
