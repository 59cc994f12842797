"""Deployments that keep failing rest for a while, for all web processes: Redis is what they share.

Without Redis nobody rests. Knows nothing of why a call failed.
"""

import logging
import time
from typing import Any

from redis import Redis, RedisError

#: Failures in a row that send a deployment to rest; how long it rests; and how long a failure
#: counts. The first call after a rest is the trial: one more failure, and it rests again.
FAILURE_THRESHOLD = 10
OPEN_S = 30
FAILURE_COUNTS_S = 300

#: How long a process believes what it has read of the others.
CACHE_S = 1.0

FAILURES = "circuit:failures:"
#: A sorted set: vendor entry -> when its rest ends, in Unix seconds.
UNTIL = "circuit:until"

log = logging.getLogger(__name__)


class CircuitBreaker:
    """Who rests. Methods never raise: this is a help, not a condition."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        self._resting: frozenset[str] = frozenset()
        self._read_at_s = float("-inf")
        self._failing: set[str] = set()

    def resting(self) -> frozenset[str]:
        """Return the names of the vendor entries that rest."""
        now_s = time.monotonic()
        if now_s - self._read_at_s >= CACHE_S:
            self._read_at_s = now_s
            try:
                found: Any = self._redis.zrangebyscore(UNTIL, time.time(), "+inf")
                self._resting = frozenset(name.decode() for name in found)
            except (RedisError, OSError):
                log.warning("resting deployments cannot be read; none rests")
                self._resting = frozenset()
        return self._resting

    def failed(self, vendor: str) -> None:
        """Count a failure, and send the vendor to rest after too many in a row."""
        self._failing.add(vendor)
        try:
            with self._redis.pipeline(transaction=True) as pipe:
                pipe.incr(FAILURES + vendor)
                pipe.expire(FAILURES + vendor, FAILURE_COUNTS_S)
                failures, _ = pipe.execute()
            if failures >= FAILURE_THRESHOLD:
                self._redis.zadd(UNTIL, {vendor: time.time() + OPEN_S})
                log.warning("%s rests for %s s: %s failures in a row", vendor, OPEN_S, failures)
        except (RedisError, OSError):
            log.warning("a failure of %s was not counted: Redis does not answer", vendor)

    def succeeded(self, vendor: str) -> None:
        """Forget the failures; costs nothing where this process has seen none."""
        if vendor not in self._failing:
            return
        self._failing.discard(vendor)
        try:
            self._redis.delete(FAILURES + vendor)
        except (RedisError, OSError):
            log.warning("failures of %s were not forgotten: Redis does not answer", vendor)
