"""Authenticates a request by its API key, and selects the account that pays."""

import contextlib
import hashlib
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from flask import g, request

from app.accounts.access import (
    ACCOUNT_HEADER,
    require_enabled,
    require_scope,
    select_account,
)
from app.accounts.apikey import ApiKey
from app.api.mistakes.keys import problem
from app.container import services
from app.vocabulary.errors import InvalidAPIKey

#: The most credentials that are tried per request; each may cost a query of the ledger.
TRIED = 4

#: How many digits of an invalid key's digest are logged: enough to tell two keys apart, too few
#: to guess one.
DIGEST_DIGITS = 12

#: The header that selects an account, in WSGI's spelling.
_ACCOUNT = f"HTTP_{ACCOUNT_HEADER.upper().replace('-', '_')}"

_BEARER = re.compile(r"bearer\s+(.+)", re.IGNORECASE | re.DOTALL)


def authenticate(scope: str, *others: str) -> ApiKey:
    """Return the key of the current request, which must carry one of the scopes.

    The first valid credential is used and the others are ignored: `x-api-key` comes before
    `Authorization: Bearer`, each from left to right.
    Raises: InvalidAPIKey, AccountDisabled, ScopeMissing, LedgerUnavailable.
    """
    key = _valid_key(request.environ)
    g.api_key_id = key.key_id
    if len(key.account_ids) == 1:  # known, also if the request is refused before it is selected
        g.account_id = key.account_ids[0]
    require_enabled(key)
    if key.scopes.isdisjoint(others):
        require_scope(key, scope)
    return key


def selected_account(key: ApiKey, environ: Mapping[str, Any]) -> str:
    """Return the account that pays for the current request; `environ` is the request's.

    Raises: AccountNotAllowed, AccountDisabled, InvalidRequest.
    """
    selected = environ.get(_ACCOUNT)
    if selected in key.account_ids:
        g.account_id = selected
    return select_account(key, selected)


def log_rejected_key(secret: str) -> None:
    """Add a digest of a rejected key to the request's log line."""
    if secret:
        raw = secret.encode("utf-8", "surrogatepass")
        g.key_digest = hashlib.sha256(raw).hexdigest()[:DIGEST_DIGITS]


def _valid_key(environ: Mapping[str, Any]) -> ApiKey:
    """Return the key of the first valid credential."""
    secrets, keyring = islice(_secrets(environ), TRIED), services().keyring
    first = next(secrets, "")
    try:
        return keyring.authenticate(first)
    except InvalidAPIKey:
        for secret in secrets:
            with contextlib.suppress(InvalidAPIKey):
                return keyring.authenticate(secret)
        log_rejected_key(first)
        raise _explained() from None


def _explained() -> InvalidAPIKey:
    """Return the error for a request without a valid key, with the challenge of RFC 6750."""
    sent = "authorization" in request.headers or "x-api-key" in request.headers
    return InvalidAPIKey(
        problem(dict(request.headers.items(lower=True)), request.args),
        headers={"www-authenticate": challenge(sent=sent)},
    )


def challenge(*, sent: bool) -> str:
    """Return the value of `www-authenticate`; `sent`: the request had a credential.

    Source: RFC 9110, section 11.6.1, and RFC 6750, section 3.
    """
    return 'Bearer realm="tollgate"' + (', error="invalid_token"' if sent else "")


def _secrets(environ: Mapping[str, Any]) -> Iterator[str]:
    """Yield the request's credentials; WSGI joins a repeated header with commas."""
    for value in environ.get("HTTP_X_API_KEY", "").split(","):
        if secret := value.strip():
            yield secret
    for value in environ.get("HTTP_AUTHORIZATION", "").split(","):
        if found := _BEARER.fullmatch(value.strip()):
            yield found[1].strip()
