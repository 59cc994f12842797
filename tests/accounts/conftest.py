"""Accounts for the tests of this room."""

import pytest
from sqlalchemy import Engine

from app.accounts.accounts import Accounts

NOW_S = 1_780_000_000.0


@pytest.fixture
def accounts(engine: Engine) -> Accounts:
    """Accounts `acme` and `Acme`, at a fixed time."""
    accounts = Accounts(engine, now_s=lambda: NOW_S)
    for account_id in ("acme", "Acme"):
        accounts.create(account_id, f"The account {account_id}")
    return accounts
