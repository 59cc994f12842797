"""Accounts in SQL."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from app.accounts.account_rows import (
    Account,
    add_account,
    find_accounts,
    lock_account,
    store_account,
    with_state,
)
from app.accounts.errors import AccountsError
from app.storage.sql.transactions import reading, write

ACME = Account("acme", "Acme", 5, "about it", 7)


def test_an_account_is_added_once_changed_and_read(engine: Engine) -> None:
    assert write(engine, lambda connection: add_account(connection, ACME))
    assert not write(engine, lambda connection: add_account(connection, ACME))
    other = replace(ACME, account_id="ACME")
    write(engine, lambda connection: add_account(connection, other))
    changed = replace(ACME, name="n", description=None, disabled_at_ms=None)
    write(engine, lambda connection: store_account(connection, changed))
    with reading(engine) as connection:
        assert find_accounts(connection) == [other, changed]
        assert lock_account(connection, "acme") == changed
        with pytest.raises(AccountsError, match="accounts list"):
            lock_account(connection, "nobody")


def test_an_account_that_is_disabled_keeps_the_time() -> None:
    assert with_state(ACME, disabled=True, now_ms=9) == ACME
    enabled = with_state(ACME, disabled=False, now_ms=9)
    assert enabled.disabled_at_ms is None
    assert with_state(enabled, disabled=False, now_ms=9) == enabled
    assert with_state(enabled, disabled=True, now_ms=9).disabled_at_ms == 9
