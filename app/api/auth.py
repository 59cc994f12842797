"""Who calls: the API key of a request, and the account that it selects."""

import contextlib
import hashlib
import re
from collections.abc import Iterator
from itertools import islice

from flask import g, request

from app.accounts.access import require_scope, select_account
from app.accounts.apikey import ApiKey
from app.container import services
from app.vocabulary.errors import InvalidAPIKey

#: Credentials that are tried of one request; each that looks like a key of ours asks the ledger.
TRIED = 4

#: How much of a wrong key's digest the log shows: enough to tell two keys apart, and no help in
#: guessing one.
DIGEST_DIGITS = 12

_BEARER = re.compile(r"bearer\s+(.+)", re.IGNORECASE | re.DOTALL)


def authenticate(scope: str, *others: str) -> ApiKey:
    """Return the key of the current request, which must carry one of the scopes.

    Of several credentials the first good one counts, and nothing of the others: those of
    `x-api-key` come before those of `Authorization: Bearer`, each from left to right.
    Raises: InvalidAPIKey, ScopeMissing, LedgerUnavailable.
    """
    key = _good_key()
    g.api_key_id = key.key_id
    if key.scopes.isdisjoint(others):
        require_scope(key, scope)
    return key


def selected_account(key: ApiKey) -> str:
    """Return the account that pays for the current request.

    Raises: AccountNotAllowed, InvalidRequest.
    """
    account_id = select_account(key, request.headers.get("x-selected-account-id"))
    g.account_id = account_id
    return account_id


def note_refused(secret: str) -> None:
    """Have the log tell a refused key from others, without a character of it."""
    if secret:
        raw = secret.encode("utf-8", "surrogatepass")
        g.key_digest = hashlib.sha256(raw).hexdigest()[:DIGEST_DIGITS]


def _good_key() -> ApiKey:
    """Return the first credential that is a live key of ours."""
    secrets = islice(_secrets(), TRIED)
    first = next(secrets, "")
    try:
        return services().keyring.authenticate(first)
    except InvalidAPIKey:
        for secret in secrets:
            with contextlib.suppress(InvalidAPIKey):
                return services().keyring.authenticate(secret)
        note_refused(first)
        raise


def _secrets() -> Iterator[str]:
    """Yield what the request has of credentials; a repeated header is joined with commas."""
    for value in request.headers.get("x-api-key", "").split(","):
        if secret := value.strip():
            yield secret
    for value in request.headers.get("authorization", "").split(","):
        if found := _BEARER.fullmatch(value.strip()):
            yield found[1].strip()
