"""Authenticates API keys for every request, from a cache of what the ledger has returned.

Does not know where in a request the key is.
"""

import time
from collections.abc import Callable

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey, secret_digest
from app.accounts.last_used import LastUsed
from app.runtime.cache import Cache, Cached
from app.vocabulary.errors import InvalidAPIKey, LedgerUnavailable

#: The longest time that a revoked key may still work in any process.
REVOCATION_BOUND_S = 10
#: The longest time for which a process caches a key, in seconds.
LONGEST_CACHE_S = REVOCATION_BOUND_S / 2
#: How long a valid key is trusted while the ledger is unavailable; no key can be revoked then.
OUTAGE_TRUST_S = 300.0
#: Cached keys of each kind, valid and unknown, so that guesses never evict valid keys.
CACHE_SIZE = 10_000


def revocation_bound_s(cache_s: float) -> float:
    """Return how long a revoked key may still work in a process that caches keys for `cache_s`.

    Twice as long, because requests use the cached key while one of them asks the ledger again.
    """
    return min(2 * cache_s, REVOCATION_BOUND_S)


_CachedKey = Cached[ApiKey] | Cached[None]


class KeyRing:
    """One process's cache of API keys; thread-safe."""

    def __init__(
        self,
        accounts: Accounts,
        cache_s: float,
        *,
        clock_s: Callable[[], float] = time.monotonic,
        now_s: Callable[[], float] = time.time,
        last_used: LastUsed | None = None,
    ) -> None:
        """Cache keys for `cache_s`, but at most for half of REVOCATION_BOUND_S."""
        self._accounts = accounts
        self._cache_s = revocation_bound_s(cache_s) / 2
        self._clock_s = clock_s
        self._now_s = now_s
        self._last_used = last_used
        self._known = Cache[bytes, ApiKey](CACHE_SIZE)
        self._unknown = Cache[bytes, None](CACHE_SIZE)

    def authenticate(self, secret: str | bytes) -> ApiKey:
        """Return the live key with this secret.

        Raises: InvalidAPIKey, with the same message for every reason; LedgerUnavailable when the
        ledger is unavailable and did not confirm the key within OUTAGE_TRUST_S.
        """
        digest = secret_digest(secret)
        if digest is None:
            raise _invalid()
        cached = self._known.get(digest) or self._unknown.get(digest)
        key = (
            cached.value if cached and self._is_fresh(cached) else self._ask(digest, secret, cached)
        )
        now_ms = int(self._now_s() * 1000)
        if key is None or not key.is_live(now_ms):
            raise _invalid()
        if self._last_used is not None:
            self._last_used.note(key, secret, now_ms)
        return key

    def close(self) -> None:
        """Store when keys were last used."""
        if self._last_used is not None:
            self._last_used.close()

    def _is_fresh(self, cached: _CachedKey) -> bool:
        """Return whether the ledger need not be asked; if it must be, only one request asks."""
        now_s = self._clock_s()
        is_trusted = now_s - cached.confirmed_s <= OUTAGE_TRUST_S
        return is_trusted and not cached.is_due(now_s, self._cache_s)

    def _ask(self, digest: bytes, secret: str | bytes, cached: _CachedKey | None) -> ApiKey | None:
        asked_s = self._clock_s()
        try:
            key = self._accounts.find_key(secret)
        except LedgerUnavailable:
            if cached is None or cached.value is None:
                raise
            if asked_s - cached.confirmed_s > OUTAGE_TRUST_S:
                raise
            return cached.value
        # The time before the query, because a revocation during the query may not be in its result.
        if key is None:
            self._known.drop(digest)
            self._unknown.put(digest, None, asked_s)
        else:
            self._unknown.drop(digest)
            self._known.put(digest, key, asked_s)
        return key


def _invalid() -> InvalidAPIKey:
    return InvalidAPIKey("The API key is missing or invalid.")
