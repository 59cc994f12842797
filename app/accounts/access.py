"""What an API key may do: its scopes, its accounts and its limits. No I/O."""

from app.accounts.apikey import ApiKey
from app.vocabulary.errors import AccountNotAllowed, InvalidRequest, ScopeMissing
from app.vocabulary.limits import Limits

ACCOUNT_HEADER = "x-selected-account-id"


def require_scope(key: ApiKey, scope: str) -> None:
    """Check that a key has a scope; no scope includes another.

    Raises: ScopeMissing.
    """
    if scope not in key.scopes:
        raise ScopeMissing(f"This API key lacks the scope `{scope}`.")


def limits_of(key: ApiKey, account_id: str) -> tuple[Limits, ...]:
    """Return the limits of a request that the account pays for: the account's and the key's."""
    return tuple(it for it in key.limits if it.kind == "key" or it.subject_id == account_id)


def select_account(key: ApiKey, selected: str | None) -> str:
    """Return the account that pays: the selected one, or the key's only one.

    Raises: AccountNotAllowed when the key does not belong to the account, or to no account at all;
    InvalidRequest when the key has several accounts and none is selected.
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
            "This API key belongs to several accounts. Select one with the header"
            f" `{ACCOUNT_HEADER}`.",
            param=ACCOUNT_HEADER,
            code="account_required",
        )
    return key.account_ids[0]
