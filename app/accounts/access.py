"""What an API key may do: its scopes, its accounts and its limits. No I/O."""

from app.accounts.apikey import ApiKey
from app.vocabulary.errors import (
    AccountDisabled,
    AccountNotAllowed,
    InvalidRequest,
    ScopeMissing,
)
from app.vocabulary.limits import Limits

ACCOUNT_HEADER = "x-selected-account-id"


def require_scope(key: ApiKey, scope: str) -> None:
    """Check that a key has a scope; no scope includes another.

    Raises: ScopeMissing.
    """
    if scope not in key.scopes:
        raise ScopeMissing(
            f"This API key lacks the scope `{scope}`. Use a key that has it:"
            f" `tollgate keys create ACCOUNT --scope {scope}` makes one, on the operator's machine."
        )


def require_enabled(key: ApiKey) -> None:
    """Check that not all of a key's accounts are disabled.

    Raises: AccountDisabled.
    """
    if key.disabled_account_ids and key.is_disabled:
        raise AccountDisabled(
            "The operator of this gateway has disabled every account of this API key:"
            f" {', '.join(key.account_ids)}."
        )


def limits_of(key: ApiKey, account_id: str) -> tuple[Limits, ...]:
    """Return the limits of a request that the account pays for: the account's and the key's."""
    return tuple(it for it in key.limits if it.kind == "key" or it.subject_id == account_id)


def select_account(key: ApiKey, selected: str | None) -> str:
    """Return the account that pays: the selected one, or the key's only one.

    Raises: AccountNotAllowed when the key does not belong to the account, or to no account at all;
    AccountDisabled when the selected account is disabled;
    InvalidRequest when the key has several accounts and none is selected.
    """
    if selected:
        if selected not in key.account_ids:
            raise AccountNotAllowed(
                "This API key does not belong to the selected account. Send the id of one of the "
                "key's accounts; upper and lower case differ.",
                param=ACCOUNT_HEADER,
            )
        if selected in key.disabled_account_ids:
            raise disabled_account(selected, ACCOUNT_HEADER)
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


def disabled_account(account_id: str, param: str) -> AccountDisabled:
    """Return the error for a disabled account that a request names in `param`."""
    return AccountDisabled(
        f"The account {account_id} is disabled by the operator of this gateway.", param=param
    )
