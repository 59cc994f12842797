"""CellIdentity: the random name of one Redis with its web processes and workers.

usage:cell  string  the name; written by the first process that asks for it
"""

from typing import Any
from uuid import uuid4

from redis import Redis

from app.storage.redis.errors import redis_errors
from app.storage.redis.keys import CELL


class CellIdentity:
    """The cell that a process belongs to."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis
        self._known = uuid4().hex

    @redis_errors()
    def read(self) -> str:
        """Return the cell's name.

        If Redis has lost it, a process that knows it writes it again.
        Raises: StreamUnavailable.
        """
        found: Any = self._redis.get(CELL)
        if found is None:  # only now a write, which a full Redis rejects
            self._redis.set(CELL, self._known, nx=True)
            found = self._redis.get(CELL)
        self._known = found.decode() if found else self._known
        return self._known
