"""How often each request has failed: those with `fail_first` fail first, and then succeed."""

import hashlib
import threading


class FirstTries:
    """Counts equal requests of this process; requests with equal bodies are equal.

    After its failures, a request succeeds once and is forgotten, so that it can be tried again.
    Of more than `limit` requests, the oldest are forgotten.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._failed: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def fails(self, body: bytes, times: int) -> bool:
        """Return whether this request is one of the first `times` with this body."""
        digest = hashlib.sha256(body).digest()
        with self._lock:
            failed = self._failed.pop(digest, 0)
            if failed >= times:
                return False
            self._failed[digest] = failed + 1  # as the newest
            if len(self._failed) > self._limit:
                del self._failed[next(iter(self._failed))]
        return True
