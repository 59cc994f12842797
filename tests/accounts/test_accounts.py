"""Accounts and their keys: what can be created, and what is stored of a secret."""

import re
from dataclasses import replace

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.accounts.accounts import Account, Accounts
from app.accounts.apikey import ApiKey, new_secret
from app.accounts.errors import AccountsError
from app.storage.sql.audit import Actor, AuditQuery, audit_entries
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import api_keys
from app.storage.sql.transactions import reading
from app.vocabulary.errors import LedgerUnavailable

NOW_MS = 1_780_000_000_000


def test_accounts_that_differ_in_case_alone_are_two(accounts: Accounts) -> None:
    assert [(a.account_id, a.name, a.created_at_ms) for a in accounts.list()] == [
        ("Acme", "The account Acme", NOW_MS),
        ("acme", "The account acme", NOW_MS),
    ]
    assert [accounts.exists(it) for it in ("acme", "Acme", "ACME")] == [True, True, False]


def test_an_account_exists_once(accounts: Accounts) -> None:
    with pytest.raises(AccountsError, match="acme already exists"):
        accounts.create("acme", "again")
    assert [account.name for account in accounts.list()] == ["The account Acme", "The account acme"]


@pytest.mark.parametrize("account_id", ["a", "7", "a.b-c_D", "x" * 64])
def test_valid_account_ids_are_accepted(accounts: Accounts, account_id: str) -> None:
    assert accounts.create(account_id, "n").account_id == account_id


@pytest.mark.parametrize(
    "account_id", ["", "-a", ".a", "a b", "a/b", "é", "٣", "a\n", "a\0", "x" * 65, "a,b", "\ud800"]
)
def test_other_account_ids_are_rejected(accounts: Accounts, account_id: str) -> None:
    with pytest.raises(AccountsError, match="1 to 64 letters"):
        accounts.create(account_id, "n")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\0b", "\x1b[2J", "\ud800", "x" * 201])
def test_names_that_cannot_be_printed_are_rejected(accounts: Accounts, name: str) -> None:
    with pytest.raises(AccountsError, match="printable characters"):
        accounts.create("new", name)
    with pytest.raises(AccountsError, match="printable characters"):
        accounts.create_key(["acme"], ["completions"], name=name)
    assert not accounts.exists("new")


def test_a_key_is_found_by_its_secret_alone(accounts: Accounts) -> None:
    key, secret = accounts.create_key(
        ("acme", "Acme", "acme"), ["usage", "completions"], "a key", NOW_MS + 1
    )
    assert key == ApiKey(
        key_id=key.key_id,
        name="a key",
        account_ids=("Acme", "acme"),
        scopes=frozenset({"completions", "usage"}),
        created_at_ms=NOW_MS,
        expires_at_ms=NOW_MS + 1,
        revoked_at_ms=None,
        secret_prefix=secret[:11],
    )
    assert accounts.find_key(secret) == accounts.find_key(secret.encode()) == key
    for other in (secret[:-1], secret + "A", secret.swapcase(), key.key_id, "", "é", "\ud800"):
        assert accounts.find_key(other) is None


def test_secrets_and_ids_are_long_and_random(
    accounts: Accounts,
) -> None:
    made = [accounts.create_key(["acme"], ["completions"]) for _ in range(50)]
    assert all(re.fullmatch(r"tg_[A-Za-z0-9_-]{43}", secret) for _, secret in made)
    assert all(re.fullmatch(r"key_[0-9a-f]{20}", key.key_id) for key, _ in made)
    assert len({secret for _, secret in made} | {key.key_id for key, _ in made}) == 100


def test_the_secret_is_nowhere_in_the_database(accounts: Accounts, engine: Engine) -> None:
    _, secret = accounts.create_key(["acme"], ["completions"])
    with reading(engine) as connection:
        kept = repr(connection.execute(sa.select(api_keys)).all())
    assert secret[3:] not in kept


@pytest.mark.parametrize(
    ("account_ids", "scopes", "says"),
    [
        (["acme"], [], "no scope"),
        (["acme"], ["completions", "root"], "scope 'root'"),
        (["acme"], ["Completions"], "scope 'Completions'"),
        ([], ["completions"], "needs an account"),
        ([], ["admin", "usage"], "needs an account"),
        (["acme", "nobody"], ["completions"], "no account 'nobody'"),
        (["ACME"], ["admin"], "no account 'ACME'"),
    ],
)
def test_invalid_keys_are_rejected(
    accounts: Accounts, account_ids: list[str], scopes: list[str], says: str
) -> None:
    with pytest.raises(AccountsError, match=says):
        accounts.create_key(account_ids, scopes)
    assert accounts.list_keys() == []


@pytest.mark.parametrize("expires_at_ms", [0, NOW_MS - 1, NOW_MS])
def test_a_key_that_would_already_be_expired_is_rejected(
    accounts: Accounts, expires_at_ms: int
) -> None:
    with pytest.raises(AccountsError, match="already be expired"):
        accounts.create_key(["acme"], ["completions"], expires_at_ms=expires_at_ms)


def test_an_admin_key_needs_no_account(accounts: Accounts) -> None:
    key, secret = accounts.create_key([], ["admin"])
    assert key.account_ids == ()
    assert accounts.find_key(secret) == key


def test_keys_are_listed_in_the_order_of_their_creation(engine: Engine) -> None:
    times_s = iter(range(100, 200))
    accounts = Accounts(engine, now_s=lambda: next(times_s))
    accounts.create("acme", "n")
    made = [accounts.create_key(["acme"], ["completions"], str(n))[0] for n in range(5)]
    made.append(accounts.create_key([], ["admin"])[0])
    assert accounts.list_keys() == made


def test_a_revocation_is_permanent_and_keeps_its_time(engine: Engine) -> None:
    times_s = iter((1, 2, 3, 4))
    accounts = Accounts(engine, now_s=lambda: next(times_s))
    accounts.create("acme", "n")
    key, secret = accounts.create_key(["acme"], ["completions"])
    accounts.revoke(key.key_id)
    accounts.revoke(key.key_id)
    assert accounts.find_key(secret) == replace(key, revoked_at_ms=3000)
    assert accounts.list_keys() == [replace(key, revoked_at_ms=3000)]


@pytest.mark.parametrize("key_id", ["key_0", "", "' OR 1=1 --"])
def test_a_key_that_is_not_there_cannot_be_revoked_or_rotated(
    accounts: Accounts, key_id: str
) -> None:
    with pytest.raises(AccountsError, match="no key"):
        accounts.revoke(key_id)
    with pytest.raises(AccountsError, match="no key"):
        accounts.rotate(key_id)


def test_a_key_in_the_place_of_its_id_is_not_repeated(accounts: Accounts) -> None:
    for secret in ("tg_ePUKb3xw", new_secret()):
        with pytest.raises(AccountsError, match="Find the ID: tollgate keys find") as caught:
            accounts.revoke(secret)
        assert secret not in str(caught.value)


def test_a_database_that_is_not_there_is_unavailable() -> None:
    engine = create_engine("postgresql+psycopg://u@127.0.0.1:1/db")
    accounts = Accounts(engine)
    for ask in (accounts.list, accounts.list_keys, lambda: accounts.create("a", "n")):
        with pytest.raises(LedgerUnavailable):
            ask()
    engine.dispose()


def test_an_account_is_renamed_described_disabled_and_enabled(engine: Engine) -> None:
    now_s = 5.0
    accounts = Accounts(engine, now_s=lambda: now_s)
    accounts.create("acme", "Acme", "the first")
    accounts.update("acme", name="Acme Ltd")
    assert accounts.get("acme") == Account("acme", "Acme Ltd", 5000, "the first")
    accounts.update("acme", description="")
    assert accounts.get("acme").description is None
    accounts.disable("acme")
    now_s = 6.0
    accounts.disable("acme")
    assert accounts.list() == [Account("acme", "Acme Ltd", 5000, None, 5000)]
    assert accounts.enable("acme").disabled_at_ms is None


def test_an_account_that_is_not_there_cannot_be_changed(accounts: Accounts) -> None:
    for change in (accounts.disable, accounts.enable, accounts.update, accounts.get):
        with pytest.raises(AccountsError, match="no account 'nobody'"):
            change("nobody")
    for name in ("", "a\nb"):
        with pytest.raises(AccountsError, match="printable"):
            accounts.update("acme", name=name)


def test_each_change_is_in_the_audit_trail_once(engine: Engine) -> None:
    accounts = Accounts(engine, now_s=lambda: 5.0).acting(Actor("ann@desk", "cli"))
    accounts.create("acme", "n")
    for name in ("m", "m"):
        accounts.update("acme", name=name)
    for change in (accounts.disable, accounts.disable, accounts.enable):
        change("acme")
    accounts.set_limits("account", "acme", streams=1)
    key, _ = accounts.create_key(["acme"], ["usage"], "k")
    accounts.set_limits("key", key.key_id, streams=2)
    new, secret = accounts.rotate(key.key_id, overlap_s=1)
    for _ in range(2):
        accounts.revoke(key.key_id)
    found = audit_entries(engine, AuditQuery())[::-1]
    assert {(it.at_ms, it.actor, it.channel) for it in found} == {(5000, "ann@desk", "cli")}
    assert [(it.change.action, it.change.api_key_id) for it in found] == [
        ("account.create", None),
        ("account.update", None),
        ("account.disable", None),
        ("account.enable", None),
        ("limits.set", None),
        ("key.create", key.key_id),
        ("limits.set", key.key_id),
        ("key.rotate", new.key_id),
        ("key.revoke", key.key_id),
    ]
    assert {it.change.account_ids for it in found} == {("acme",)}
    assert found[1].change.detail == {"name": ["n", "m"]}
    assert found[4].change.detail == {"streams": [None, 1]}
    assert found[7].change.detail == {
        "scopes": "usage",
        "name": "k",
        "rotated_from": key.key_id,
        "old_key_expires_at_ms": 6000,
    }
    assert secret not in str(found)


def test_a_key_that_was_never_shown_is_not_in_the_audit_trail(
    accounts: Accounts, engine: Engine
) -> None:
    before = len(audit_entries(engine, AuditQuery()))
    shown, _ = accounts.create_key(["acme"], ["usage"], enabled=False)
    lost, _ = accounts.create_key(["acme"], ["usage"], enabled=False)
    with pytest.raises(OSError, match="full"), accounts.hand_over(lost):
        raise OSError("full")
    with accounts.hand_over(shown):
        assert len(audit_entries(engine, AuditQuery())) == before
    newest, *rest = audit_entries(engine, AuditQuery())
    assert (newest.change.action, newest.change.api_key_id) == ("key.create", shown.key_id)
    assert len(rest) == before
