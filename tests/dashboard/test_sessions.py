"""Sessions: begin, expire, end; on both databases."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, select

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey
from app.dashboard.sessions import SESSION_S, Sessions
from app.storage.sql.tables import sessions

NOW_S = 1_780_000_000.0


@pytest.fixture
def key(engine: Engine) -> ApiKey:
    """A key that may read usage."""
    accounts = Accounts(engine)
    accounts.create("acme", "Acme")
    key, _ = accounts.create_key(["acme"], ["usage"])
    return key


def at(now_s: float) -> Callable[[], float]:
    return lambda: now_s


def rows(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(select(sessions)))


def test_a_session_leads_to_its_key_until_it_is_over(engine: Engine, key: ApiKey) -> None:
    token = Sessions(engine, at(NOW_S)).begin(key)
    assert Sessions(engine, at(NOW_S + SESSION_S - 1)).key_id(token) == key.key_id
    assert Sessions(engine, at(NOW_S + SESSION_S)).key_id(token) is None


def test_a_session_that_was_ended_is_over(engine: Engine, key: ApiKey) -> None:
    sessions_of = Sessions(engine)
    token, other = sessions_of.begin(key), sessions_of.begin(key)
    sessions_of.end(token)
    sessions_of.end(token)
    assert sessions_of.key_id(token) is None
    assert sessions_of.key_id(other) == key.key_id


def test_the_ledger_does_not_hold_the_token(engine: Engine, key: ApiKey) -> None:
    token = Sessions(engine).begin(key)
    (row,) = rows(engine)
    assert token not in repr(row)
    assert len(token) >= 43
    assert Sessions(engine).key_id(row.token_sha256.hex()) is None


def test_a_new_session_clears_those_that_are_over(engine: Engine, key: ApiKey) -> None:
    Sessions(engine, at(NOW_S)).begin(key)
    Sessions(engine, at(NOW_S + 2 * SESSION_S)).begin(key)
    assert len(rows(engine)) == 1


@pytest.mark.parametrize("token", ["", "x", "\udcff", "a" * 5000, "\0"])
def test_a_wrong_token_is_nobodys(engine: Engine, token: str) -> None:
    assert Sessions(engine).key_id(token) is None
