"""Limits in SQL."""

import pytest
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.accounts.errors import AccountsError
from app.accounts.limit_rows import copy_limits, find_limits, lock_limits, store_limits
from app.storage.sql.tables import limits
from app.storage.sql.transactions import reading, write
from app.vocabulary.limits import Kind, Limits
from tests.ledger.ledgers import rows

ACME = Limits(kind="account", subject_id="acme", streams=3, budget_nanousd=5, period="day")


def find(engine: Engine, kind: Kind, subject_id: str) -> Limits | None:
    with reading(engine) as connection:
        return find_limits(connection, kind, subject_id)


def store(engine: Engine, changed: Limits) -> None:
    write(engine, lambda connection: store_limits(connection, changed))


@pytest.mark.usefixtures("accounts")
def test_an_account_without_limits_has_empty_ones_and_an_unknown_one_has_none(
    engine: Engine,
) -> None:
    assert find(engine, "account", "acme") == Limits(kind="account", subject_id="acme")
    assert find(engine, "account", "ACME") is None
    assert find(engine, "key", "acme") is None


@pytest.mark.usefixtures("accounts")
def test_limits_are_replaced_as_a_whole_and_removed_when_empty(engine: Engine) -> None:
    store(engine, ACME)
    assert find(engine, "account", "acme") == ACME
    changed = Limits(kind="account", subject_id="acme", tokens_per_minute=7)
    store(engine, changed)
    assert find(engine, "account", "acme") == changed
    store(engine, Limits(kind="account", subject_id="acme"))
    assert rows(engine, limits) == []


@pytest.mark.usefixtures("accounts")
def test_locked_limits_are_the_stored_ones(engine: Engine) -> None:
    store(engine, ACME)
    assert write(engine, lambda connection: lock_limits(connection, "account", "acme")) == ACME
    assert write(engine, lambda connection: lock_limits(connection, "key", "acme")) is None


def test_a_key_gets_the_limits_of_another(accounts: Accounts, engine: Engine) -> None:
    old, new = (accounts.create_key(["acme"], ["usage"])[0].key_id for _ in range(2))
    accounts.set_limits("key", old, streams=2)
    write(engine, lambda connection: copy_limits(connection, old, new))
    assert find(engine, "key", new) == Limits(kind="key", subject_id=new, streams=2)


@pytest.mark.parametrize("kind", ["account", "key"])
def test_limits_of_nobody_are_an_error_with_the_command_that_lists(
    accounts: Accounts, kind: Kind
) -> None:
    message = f"no {kind} 'x'.*`tollgate {kind}s list`"
    with pytest.raises(AccountsError, match=message):
        accounts.limits(kind, "x")
    with pytest.raises(AccountsError, match=message):
        accounts.set_limits(kind, "x", streams=1)


def test_a_change_keeps_other_limits_and_an_invalid_one_changes_nothing(
    accounts: Accounts,
) -> None:
    accounts.set_limits("account", "acme", streams=3, budget_nanousd=5, period="day")
    with pytest.raises(AccountsError, match="soft"):
        accounts.set_limits("account", "acme", soft_nanousd=6)
    assert accounts.set_limits("account", "acme", budget_nanousd=None).streams == 3
    assert accounts.list_limits() == [
        Limits(kind="account", subject_id="acme", streams=3, period="day")
    ]
