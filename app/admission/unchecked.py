"""Counts requests that were served without a check of their limits, for an alarm on all hosts.

    limits:unchecked  hash  reason -> requests; expires RECENT_S after the last of them

A process reports its counts to Redis, so that they outlive an outage of Redis. Does not decide
which requests are served.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from redis import Redis

from app.storage.redis.errors import redis_errors
from app.storage.redis.keys import UNCHECKED
from app.storage.redis.scripts import EVEN_IF_FULL, Argument, Script, read_lua, run
from app.vocabulary.errors import StreamFull, StreamTimeout, StreamUnavailable

#: How long the last of these requests counts as recent, in seconds: long enough for an operator to
#: see the alarm after a short outage.
RECENT_S = 900

#: The ledger has not answered yet, so a budget was compared only with what Redis has counted.
LEDGER_UNKNOWN = "ledger_unknown"

#: Why limits were not checked.
REASONS = (StreamUnavailable.reason, StreamTimeout.reason, StreamFull.reason, LEDGER_UNKNOWN)

COUNT_UNCHECKED = Script(EVEN_IF_FULL + read_lua(__package__, "count_unchecked"))


def _ignore(_reason: str) -> None:
    pass


class UncheckedRequests:
    """The counts of one process, and those that all processes have reported.

    `counted` is called with the reason of each request, for metrics.
    """

    def __init__(self, redis: "Redis", counted: Callable[[str], None] = _ignore) -> None:
        self._redis = redis
        self._counted = counted
        self._waiting = Counter[str]()

    def count(self, reason: str) -> None:
        """Count one request."""
        self._waiting[reason] += 1
        self._counted(reason)

    @redis_errors()
    def report(self) -> None:
        """Report what was counted since the last report.

        Raises: StreamUnavailable; the next report includes the counts.
        """
        waiting = +self._waiting
        if not waiting:
            return
        args: list[Argument] = [RECENT_S]
        for reason, number in waiting.items():
            args += (reason, number)
        run(self._redis, COUNT_UNCHECKED, [UNCHECKED], args)
        self._waiting.subtract(waiting)

    def recent(self) -> Mapping[str, int]:
        """Return the recent requests by reason; if Redis is down, those of this process."""
        recent = +self._waiting
        try:
            with redis_errors():
                found: Any = self._redis.hgetall(UNCHECKED)
        except StreamUnavailable:
            found = {}
        recent.update({reason.decode(): int(number) for reason, number in found.items()})
        return recent
