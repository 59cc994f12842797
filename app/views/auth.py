"""Who calls: the API key of a request, and the account that it selects."""

from flask import g, request

from app.accounts import ApiKey
from app.keyring import require_scope, select_account
from app.services import services


def authenticate(scope: str, *others: str) -> ApiKey:
    """Return the key of the current request, which must carry one of the scopes.

    Raises: InvalidAPIKey, ScopeMissing, LedgerUnavailable.
    """
    key = services().keyring.authenticate(_secret())
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


def _secret() -> str:
    """Return the key as sent: `x-api-key`, or else `Authorization: Bearer`."""
    secret = request.headers.get("x-api-key")
    if secret:
        return secret
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
