"""API keys: what is found, and who is recorded."""

import pytest

from app.accounts.accounts import Accounts
from app.accounts.errors import AccountsError
from app.storage.sql.audit import Actor, AlreadyDone


def test_a_form_that_is_sent_twice_makes_one_key(accounts: Accounts) -> None:
    acting = accounts.acting(Actor("key_1", "dashboard", "form_1"))
    key, _ = acting.create_key(["acme"], ["usage"])
    with pytest.raises(AlreadyDone) as raised:
        acting.create_key(["acme"], ["usage"])
    assert raised.value.entry.change.api_key_id == key.key_id
    assert accounts.list_keys() == [key]


def test_keys_are_found_by_id_whatever_their_state(accounts: Accounts) -> None:
    key, _ = accounts.create_key(["acme"], ["usage"])
    accounts.revoke(key.key_id)
    found = accounts.get_key(key.key_id)
    assert found is not None
    assert found.state(0) == "revoked"
    assert accounts.get_key("key_0") is None


def test_a_key_needs_accounts_that_exist(accounts: Accounts) -> None:
    with pytest.raises(AccountsError, match="accounts create"):
        accounts.create_key(["acme", "nobody"], ["usage"])
