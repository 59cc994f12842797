"""How full Redis is, cached for a moment."""

import time
from typing import Any

from redis import Redis, ResponseError

from app.storage.redis.errors import redis_errors

#: Largest age of a cached share, in seconds.
CACHE_S = 1.0


class MemoryShare:
    """Reads the share of its memory limit that a Redis uses."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        self._used = 0
        self._limit = 0
        self._read_at_s = float("-inf")

    @redis_errors()
    def get(self) -> float:
        """Return the share; 0 if Redis has no limit, or does not permit INFO.

        Raises: StreamUnavailable.
        """
        now_s = time.monotonic()
        if now_s - self._read_at_s >= CACHE_S:
            try:
                info: Any = self._redis.info("memory")
            except ResponseError:
                info = {}
            self._used, self._limit = info.get("used_memory", 0), info.get("maxmemory", 0)
            self._read_at_s = now_s
        return self._used / self._limit if self._limit else 0.0

    def add(self, written: int) -> None:
        """Count bytes that this process has written since Redis was last asked."""
        self._used += written
