"""What a key may do: its scopes, its accounts and its limits."""

from dataclasses import replace

import pytest

from app.accounts.access import limits_of, require_enabled, require_scope, select_account
from app.accounts.apikey import ApiKey
from app.vocabulary.errors import (
    AccountDisabled,
    AccountNotAllowed,
    InvalidRequest,
    ScopeMissing,
)
from app.vocabulary.limits import Limits

KEY = ApiKey("key_1", None, ("acme", "beta"), frozenset({"admin"}), 0, None, None)


def test_no_scope_includes_another() -> None:
    require_scope(KEY, "admin")
    for scope in ("completions", "usage"):
        with pytest.raises(ScopeMissing, match=scope):
            require_scope(KEY, scope)


def test_the_selected_account_must_be_the_keys_own() -> None:
    """Case F04."""
    assert [select_account(KEY, it) for it in KEY.account_ids] == ["acme", "beta"]
    for other in ("gamma", "Acme", "acme ", "acme,beta"):
        with pytest.raises(AccountNotAllowed) as raised:
            select_account(KEY, other)
        assert raised.value.param == "x-selected-account-id"
        assert "beta" not in str(raised.value)


@pytest.mark.parametrize("selected", [None, ""])
def test_without_a_selection_the_only_account_pays(selected: str | None) -> None:
    assert select_account(replace(KEY, account_ids=("acme",)), selected) == "acme"
    with pytest.raises(InvalidRequest) as raised:
        select_account(KEY, selected)
    assert (raised.value.code, raised.value.param) == ("account_required", "x-selected-account-id")
    with pytest.raises(AccountNotAllowed):
        select_account(replace(KEY, account_ids=()), selected)


def test_a_disabled_account_is_refused_and_the_keys_other_account_pays() -> None:
    key = replace(KEY, disabled_account_ids=frozenset({"acme"}))
    require_enabled(key)
    assert select_account(key, "beta") == "beta"
    with pytest.raises(AccountDisabled, match="acme") as raised:
        select_account(key, "acme")
    assert raised.value.param == "x-selected-account-id"
    with pytest.raises(InvalidRequest):  # else the other account would pay unasked
        select_account(key, None)


def test_a_key_with_only_disabled_accounts_may_do_nothing() -> None:
    with pytest.raises(AccountDisabled, match="acme, beta"):
        require_enabled(replace(KEY, disabled_account_ids=frozenset(KEY.account_ids)))
    require_enabled(replace(KEY, account_ids=()))


def test_a_request_is_limited_by_its_key_and_the_account_that_pays() -> None:
    of_key = Limits(kind="key", subject_id="key_1", streams=1)
    acme, beta = (Limits(kind="account", subject_id=it, streams=2) for it in KEY.account_ids)
    key = replace(KEY, limits=(acme, of_key, beta))
    assert limits_of(key, "acme") == (acme, of_key)
    assert limits_of(key, "beta") == (of_key, beta)
    assert limits_of(KEY, "acme") == ()
