"""Authenticates API keys for every request, from a cache of what the ledger has returned.

Does not know where in a request the key is.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey, secret_digest
from app.vocabulary.errors import InvalidAPIKey, LedgerUnavailable

#: The longest time that a revoked key may still work in any process.
REVOCATION_BOUND_S = 10
#: How long a valid key is trusted while the ledger is unavailable; no key can be revoked then.
OUTAGE_TRUST_S = 300.0
#: Cached keys of each kind, valid and unknown, so that guesses never evict valid keys.
CACHE_SIZE = 10_000


@dataclass(slots=True)
class _CachedKey:
    """The ledger's key for a secret, None if unknown.

    Units: seconds of the ring's clock. `asked_s` is when the ledger was last asked, `confirmed_s`
    when it was last asked with success.
    """

    key: ApiKey | None
    confirmed_s: float
    asked_s: float


class KeyRing:
    """One process's cache of API keys; thread-safe."""

    def __init__(
        self,
        accounts: Accounts,
        cache_s: float,
        *,
        clock_s: Callable[[], float] = time.monotonic,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Cache keys for `cache_s`, but at most for half of REVOCATION_BOUND_S."""
        self._accounts = accounts
        # Half, because requests use the cached key while one of them asks the ledger again.
        self._cache_s = min(cache_s, REVOCATION_BOUND_S / 2)
        self._clock_s = clock_s
        self._now_s = now_s
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, _CachedKey] = OrderedDict()
        self._unknown: OrderedDict[bytes, _CachedKey] = OrderedDict()

    def authenticate(self, secret: str | bytes) -> ApiKey:
        """Return the live key with this secret.

        Raises: InvalidAPIKey, with the same message for every reason; LedgerUnavailable when the
        ledger is unavailable and did not confirm the key within OUTAGE_TRUST_S.
        """
        digest = secret_digest(secret)
        if digest is None:
            raise _invalid()
        cached = self._cached(digest)
        key = cached.key if cached and self._is_fresh(cached) else self._ask(digest, secret, cached)
        if key is None or not key.is_live(int(self._now_s() * 1000)):
            raise _invalid()
        return key

    def _cached(self, digest: bytes) -> _CachedKey | None:
        with self._lock:
            for cache in (self._known, self._unknown):
                cached = cache.get(digest)
                if cached is not None:
                    cache.move_to_end(digest)
                    return cached
        return None

    def _is_fresh(self, cached: _CachedKey) -> bool:
        now_s = self._clock_s()
        trusted = now_s - cached.confirmed_s <= OUTAGE_TRUST_S
        return trusted and now_s - cached.asked_s < self._cache_s

    def _ask(self, digest: bytes, secret: str | bytes, cached: _CachedKey | None) -> ApiKey | None:
        asked_s = self._clock_s()
        if cached is not None:
            # Other requests now see it as fresh: only one asks, even while the ledger is down.
            cached.asked_s = asked_s
        try:
            key = self._accounts.find_key(secret)
        except LedgerUnavailable:
            if cached is None or cached.key is None:
                raise
            if asked_s - cached.confirmed_s > OUTAGE_TRUST_S:
                raise
            return cached.key
        # The time before the query, because a revocation during the query may not be in its result.
        self._store(digest, _CachedKey(key, asked_s, asked_s))
        return key

    def _store(self, digest: bytes, cached: _CachedKey) -> None:
        cache, other = self._known, self._unknown
        if cached.key is None:
            cache, other = other, cache
        with self._lock:
            other.pop(digest, None)
            cache[digest] = cached
            if len(cache) > CACHE_SIZE:
                cache.popitem(last=False)


def _invalid() -> InvalidAPIKey:
    return InvalidAPIKey("The API key is missing or invalid.")
