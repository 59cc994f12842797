"""Accounts and their keys: what can be created, and what is kept of a secret."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.accounts.accounts import Accounts, AccountsError, ApiKey
from app.storage.sql.database import create_engine, reading
from app.storage.sql.tables import api_keys
from app.vocabulary.errors import LedgerUnavailable

NOW_S = 1_780_000_000.0
NOW_MS = 1_780_000_000_000


@pytest.fixture
def accounts(engine: Engine) -> Accounts:
    """Accounts `acme` and `Acme`, at a fixed time."""
    accounts = Accounts(engine, now_s=lambda: NOW_S)
    for account_id in ("acme", "Acme"):
        accounts.create(account_id, f"The account {account_id}")
    return accounts


def test_accounts_that_differ_in_case_alone_are_two(accounts: Accounts) -> None:
    assert [(a.account_id, a.name, a.created_at_ms) for a in accounts.list()] == [
        ("Acme", "The account Acme", NOW_MS),
        ("acme", "The account acme", NOW_MS),
    ]
    assert [accounts.exists(it) for it in ("acme", "Acme", "ACME")] == [True, True, False]


def test_an_account_exists_once(accounts: Accounts) -> None:
    with pytest.raises(AccountsError, match="acme exists already"):
        accounts.create("acme", "again")
    assert [account.name for account in accounts.list()] == ["The account Acme", "The account acme"]


@pytest.mark.parametrize("account_id", ["a", "7", "a.b-c_D", "x" * 64])
def test_sane_account_ids_are_taken(accounts: Accounts, account_id: str) -> None:
    assert accounts.create(account_id, "n").account_id == account_id


@pytest.mark.parametrize(
    "account_id", ["", "-a", ".a", "a b", "a/b", "é", "٣", "a\n", "a\0", "x" * 65, "a,b", "\ud800"]
)
def test_other_account_ids_are_refused(accounts: Accounts, account_id: str) -> None:
    with pytest.raises(AccountsError, match="1 to 64 letters"):
        accounts.create(account_id, "n")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\0b", "\x1b[2J", "\ud800", "x" * 201])
def test_names_that_cannot_be_shown_are_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(AccountsError, match="can be printed"):
        accounts.create("new", name)
    with pytest.raises(AccountsError, match="can be printed"):
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
    )
    assert accounts.find_key(secret) == accounts.find_key(secret.encode()) == key
    for other in (secret[:-1], secret + "A", secret.swapcase(), key.key_id, "", "é", "\ud800"):
        assert accounts.find_key(other) is None


def test_secrets_are_long_and_random_and_their_ids_tell_nothing_of_them(
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
        (["acme"], [], "scopes"),
        (["acme"], ["completions", "root"], "'root' is none"),
        (["acme"], ["Completions"], "'Completions' is none"),
        ([], ["completions"], "needs an account"),
        ([], ["admin", "usage"], "needs an account"),
        (["acme", "nobody"], ["completions"], "no account 'nobody'"),
        (["ACME"], ["admin"], "no account 'ACME'"),
    ],
)
def test_keys_of_no_use_are_refused(
    accounts: Accounts, account_ids: list[str], scopes: list[str], says: str
) -> None:
    with pytest.raises(AccountsError, match=says):
        accounts.create_key(account_ids, scopes)
    assert accounts.list_keys() == []


@pytest.mark.parametrize("expires_at_ms", [0, NOW_MS - 1, NOW_MS])
def test_a_key_that_has_expired_already_is_refused(accounts: Accounts, expires_at_ms: int) -> None:
    with pytest.raises(AccountsError, match="expired already"):
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


def test_a_revoked_key_says_when_for_good(engine: Engine) -> None:
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


def test_rotation_makes_a_like_key_and_leaves_the_old_one(accounts: Accounts) -> None:
    old, old_secret = accounts.create_key(["acme", "Acme"], ["usage"], "n")
    new, secret = accounts.rotate(old.key_id)
    assert new == replace(old, key_id=new.key_id)
    assert new.key_id != old.key_id
    assert accounts.find_key(secret) == new
    assert accounts.find_key(old_secret) == old


def test_a_rotated_key_lives_as_long_as_the_old_one_did(engine: Engine) -> None:
    times_s = iter((100, 100, 150))
    accounts = Accounts(engine, now_s=lambda: next(times_s))
    accounts.create("acme", "n")
    old, _ = accounts.create_key(["acme"], ["completions"], expires_at_ms=160_000)
    new, _ = accounts.rotate(old.key_id)
    assert (new.created_at_ms, new.expires_at_ms) == (150_000, 210_000)


def test_one_operation_makes_one_key_and_names_it_when_repeated(accounts: Accounts) -> None:
    """Case F07: the answer to a rotation was lost, and it is sent again."""
    old, _ = accounts.create_key(["acme"], ["completions"])
    new, _ = accounts.rotate(old.key_id, "rotation 1")
    accounts.revoke(old.key_id)
    with pytest.raises(AccountsError, match=new.key_id):
        accounts.rotate(old.key_id, "rotation 1")
    assert len(accounts.list_keys()) == 2


def test_an_operation_id_counts_for_one_key_alone(accounts: Accounts) -> None:
    keys = [accounts.create_key(["acme"], ["completions"])[0] for _ in range(2)]
    for key in keys:
        accounts.rotate(key.key_id, "yearly")
    accounts.rotate(keys[0].key_id, "again")
    for _ in range(2):
        accounts.rotate(keys[0].key_id)
    assert len(accounts.list_keys()) == 7


def test_one_operation_sent_many_times_at_once_makes_one_key(accounts: Accounts) -> None:
    old, _ = accounts.create_key(["acme"], ["completions"])

    def rotate(_: int) -> str | AccountsError:
        try:
            return accounts.rotate(old.key_id, "rotation 1")[0].key_id
        except AccountsError as exc:
            return exc

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(rotate, range(8)))
    (made,) = [answer for answer in answers if isinstance(answer, str)]
    assert all(made in str(answer) for answer in answers)
    assert len(accounts.list_keys()) == 2


@pytest.mark.parametrize("operation_id", ["", "a\0b", "x" * 201])
def test_operation_ids_of_no_use_are_refused(accounts: Accounts, operation_id: str) -> None:
    key, _ = accounts.create_key(["acme"], ["completions"])
    with pytest.raises(AccountsError, match="operation id"):
        accounts.rotate(key.key_id, operation_id)


def test_a_key_that_no_longer_works_is_not_rotated(engine: Engine) -> None:
    now_s = 100.0
    accounts = Accounts(engine, now_s=lambda: now_s)
    accounts.create("acme", "n")
    revoked, _ = accounts.create_key(["acme"], ["completions"])
    expired, _ = accounts.create_key(["acme"], ["completions"], expires_at_ms=160_000)
    accounts.revoke(revoked.key_id)
    now_s = 160.0
    for key in (revoked, expired):
        with pytest.raises(AccountsError, match="revoked or expired"):
            accounts.rotate(key.key_id)


def test_a_database_that_is_not_there_is_unavailable() -> None:
    engine = create_engine("postgresql+psycopg://u@127.0.0.1:1/db")
    accounts = Accounts(engine)
    for ask in (accounts.list, accounts.list_keys, lambda: accounts.create("a", "n")):
        with pytest.raises(LedgerUnavailable):
            ask()
    engine.dispose()
