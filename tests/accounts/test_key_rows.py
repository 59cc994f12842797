"""API keys in SQL."""

from dataclasses import replace
from functools import partial

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey, new_secret
from app.accounts.key_rows import (
    add_key,
    delete_key,
    enable_key,
    find_keys,
    retire_key,
    revoke_key,
)
from app.storage.sql.tables import api_key_accounts, api_keys, limits
from app.storage.sql.transactions import reading, write
from app.vocabulary.limits import Limits
from tests.ledger.ledgers import rows

KEY = ApiKey("key_1", "ci", ("Acme", "acme"), frozenset({"usage", "admin"}), 5, 99, None)


def add(engine: Engine, key: ApiKey, secret: str | None = None) -> None:
    write(engine, lambda connection: add_key(connection, key, secret or new_secret()))


def find(engine: Engine, *conditions: sa.ColumnElement[bool]) -> list[ApiKey]:
    with reading(engine) as connection:
        return find_keys(connection, *conditions)


@pytest.mark.usefixtures("accounts")
def test_a_key_is_read_as_it_was_written(engine: Engine) -> None:
    secret = new_secret()
    add(engine, KEY, secret)
    assert find(engine) == [replace(KEY, secret_prefix=secret[:11])]
    assert find(engine, api_keys.c.key_id == "key_2") == []


def test_a_key_has_its_own_limits_and_those_of_all_its_accounts_once(
    accounts: Accounts, engine: Engine
) -> None:
    add(engine, KEY)
    of_key = accounts.set_limits("key", "key_1", streams=1)
    of_accounts = [accounts.set_limits("account", it, streams=2) for it in KEY.account_ids]
    accounts.create("other", "n")
    accounts.set_limits("account", "other", streams=3)
    (found,) = find(engine)
    assert found.account_ids == KEY.account_ids
    assert len(found.limits) == 3
    assert set(found.limits) == {of_key, *of_accounts}


def test_a_key_without_accounts_may_have_limits(accounts: Accounts, engine: Engine) -> None:
    add(engine, ApiKey("key_2", None, (), frozenset({"admin"}), 5, None, None))
    accounts.set_limits("key", "key_2", streams=1)
    (found,) = find(engine)
    assert (found.account_ids, found.limits) == (
        (),
        (Limits(kind="key", subject_id="key_2", streams=1),),
    )


@pytest.mark.usefixtures("accounts")
def test_a_revocation_keeps_its_first_time_and_reports_whether_it_is_one(engine: Engine) -> None:
    add(engine, KEY)
    revoked = [
        write(engine, partial(revoke_key, key_id=key_id, now_ms=now_ms))
        for key_id, now_ms in (("key_1", 7), ("key_1", 8), ("key_2", 7))
    ]
    assert revoked == [True, False, False]
    assert [key.revoked_at_ms for key in find(engine)] == [7]


@pytest.mark.usefixtures("accounts")
def test_a_disabled_key_is_enabled_if_it_still_exists(engine: Engine) -> None:
    add(engine, ApiKey("key_2", None, ("acme",), frozenset({"usage"}), 5, None, 5))
    enabled = [write(engine, partial(enable_key, key_id=it)) for it in ("key_2", "key_3")]
    assert enabled == [True, False]
    assert find(engine)[0].is_live(6)


def test_a_deleted_key_leaves_nothing(accounts: Accounts, engine: Engine) -> None:
    add(engine, KEY)
    accounts.set_limits("key", "key_1", streams=1)
    for _ in range(2):
        write(engine, lambda connection: delete_key(connection, "key_1"))
    assert [rows(engine, table) for table in (api_keys, api_key_accounts, limits)] == [[], [], []]


@pytest.mark.usefixtures("accounts")
@pytest.mark.parametrize(("expires_at_ms", "then"), [(None, 50), (99, 50), (40, 40)])
def test_a_retired_key_expires_no_later_than_before(
    engine: Engine, expires_at_ms: int | None, then: int
) -> None:
    add(engine, replace(KEY, expires_at_ms=expires_at_ms))
    write(engine, lambda connection: retire_key(connection, "key_1", 7, 50))
    (found,) = find(engine)
    assert (found.expires_at_ms, found.retired_at_ms) == (then, 7)


def test_a_key_knows_which_of_its_accounts_are_disabled(accounts: Accounts, engine: Engine) -> None:
    add(engine, KEY)
    accounts.disable("acme")
    (found,) = find(engine)
    assert found.disabled_account_ids == {"acme"}
    assert not found.is_disabled
    assert found.enabled_account_ids == ("Acme",)
    accounts.disable("Acme")
    assert [it.state(6) for it in find(engine)] == ["disabled"]
    accounts.enable("acme")
    assert find(engine)[0].disabled_account_ids == {"Acme"}
