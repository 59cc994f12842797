"""The key ring: says whose an API key is, fast enough for every request, and what it may do.

Does not know where in a request the key stands.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from app.accounts.accounts import Accounts
from app.accounts.apikey import SCOPES, ApiKey, secret_digest
from app.vocabulary.errors import (
    AccountNotAllowed,
    InvalidAPIKey,
    InvalidRequest,
    LedgerUnavailable,
    ScopeMissing,
)
from app.vocabulary.limits import Limits

__all__ = ["REVOCATION_BOUND_S", "SCOPES", "Caller", "KeyRing", "require_scope", "select_account"]

#: A revoked key has stopped working everywhere this long after its revocation.
REVOCATION_BOUND_S = 10
#: How long a good key is trusted while the ledger does not answer, which can then revoke nothing.
OUTAGE_TRUST_S = 300.0
#: Keys remembered of each kind, good and unknown, so that guesses never push out a good one.
REMEMBERED = 10_000

ACCOUNT_HEADER = "x-selected-account-id"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a completion is for: the key it came with and the account that pays."""

    api_key_id: str
    account_id: str


@dataclass(slots=True)
class _Memory:
    """What the ledger said of a secret, when it said so, and when it was last asked to (in s)."""

    key: ApiKey | None
    confirmed_s: float
    asked_s: float


class KeyRing:
    """What one process knows of API keys; threads share it."""

    def __init__(
        self,
        accounts: Accounts,
        cache_s: float,
        *,
        clock_s: Callable[[], float] = time.monotonic,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Trust what the ledger said for `cache_s`, at most half of REVOCATION_BOUND_S."""
        self._accounts = accounts
        # Half: while one request asks the ledger anew, others go on with the old answer.
        self._cache_s = min(cache_s, REVOCATION_BOUND_S / 2)
        self._clock_s = clock_s
        self._now_s = now_s
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, _Memory] = OrderedDict()
        self._unknown: OrderedDict[bytes, _Memory] = OrderedDict()

    def authenticate(self, secret: str | bytes) -> ApiKey:
        """Return the live key whose secret this is.

        Raises: InvalidAPIKey, the same for whatever is wrong; LedgerUnavailable when the ledger
        does not answer and the key has not been good within OUTAGE_TRUST_S.
        """
        digest = secret_digest(secret)
        if digest is None:
            raise _invalid()
        memory = self._recall(digest)
        key = memory.key if memory and self._is_fresh(memory) else self._ask(digest, secret, memory)
        if key is None or not key.is_live(int(self._now_s() * 1000)):
            raise _invalid()
        return key

    def _recall(self, digest: bytes) -> _Memory | None:
        with self._lock:
            for memories in (self._known, self._unknown):
                memory = memories.get(digest)
                if memory is not None:
                    memories.move_to_end(digest)
                    return memory
        return None

    def _is_fresh(self, memory: _Memory) -> bool:
        now_s = self._clock_s()
        trusted = now_s - memory.confirmed_s <= OUTAGE_TRUST_S
        return trusted and now_s - memory.asked_s < self._cache_s

    def _ask(self, digest: bytes, secret: str | bytes, memory: _Memory | None) -> ApiKey | None:
        asked_s = self._clock_s()
        if memory is not None:
            # From here on others see it as fresh: one request asks, also while the ledger is down.
            memory.asked_s = asked_s
        try:
            key = self._accounts.find_key(secret)
        except LedgerUnavailable:
            if memory is None or memory.key is None:
                raise
            if asked_s - memory.confirmed_s > OUTAGE_TRUST_S:
                raise
            return memory.key
        # Confirmed as of the question: a revocation during the answer may not be in it.
        self._remember(digest, _Memory(key, asked_s, asked_s))
        return key

    def _remember(self, digest: bytes, memory: _Memory) -> None:
        memories, others = self._known, self._unknown
        if memory.key is None:
            memories, others = others, memories
        with self._lock:
            others.pop(digest, None)
            memories[digest] = memory
            if len(memories) > REMEMBERED:
                memories.popitem(last=False)


def _invalid() -> InvalidAPIKey:
    return InvalidAPIKey("The API key is missing or not valid.")


def require_scope(key: ApiKey, scope: str) -> None:
    """Check that a key may do this; no scope includes another.

    Raises: ScopeMissing.
    """
    if scope not in key.scopes:
        raise ScopeMissing(f"This API key lacks the scope `{scope}`.")


def limits_of(key: ApiKey, account_id: str) -> tuple[Limits, ...]:
    """Return what a request that an account pays for must fit in: its limits, and the key's."""
    return tuple(it for it in key.limits if it.kind == "key" or it.subject_id == account_id)


def select_account(key: ApiKey, selected: str | None) -> str:
    """Return the account that pays: the one that was selected, or the key's only one.

    Raises: AccountNotAllowed when it is not the key's; InvalidRequest when there is a choice
    and none was made.
    """
    if selected:
        if selected not in key.account_ids:
            raise AccountNotAllowed(
                "This API key does not belong to the selected account.", param=ACCOUNT_HEADER
            )
        return selected
    if not key.account_ids:
        raise AccountNotAllowed("This API key belongs to no account.", param=ACCOUNT_HEADER)
    if len(key.account_ids) > 1:
        raise InvalidRequest(
            f"This API key serves several accounts: select one with the header `{ACCOUNT_HEADER}`.",
            param=ACCOUNT_HEADER,
            code="account_required",
        )
    return key.account_ids[0]
