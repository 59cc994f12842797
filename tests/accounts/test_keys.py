"""API keys: what is found, and who is recorded."""

from concurrent.futures import ThreadPoolExecutor

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


def test_a_form_that_is_sent_many_times_at_once_makes_one_key(accounts: Accounts) -> None:
    acting = accounts.acting(Actor("key_1", "dashboard", "form_1"))

    def create(_: int) -> str:
        try:
            return acting.create_key(["acme"], ["usage"])[0].key_id
        except AlreadyDone as exc:
            return f"again {exc.entry.change.api_key_id}"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(create, range(8)))
    (made,) = [it for it in answers if not it.startswith("again")]
    assert answers.count(f"again {made}") == 7
    assert [key.key_id for key in accounts.list_keys()] == [made]


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
