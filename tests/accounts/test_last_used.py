"""When keys were last used: stored now and then, and lost by no outage of the ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, update

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey
from app.accounts.keyring import KeyRing
from app.accounts.last_used import APART_MS, LastUsed
from app.storage.sql.tables import api_keys
from tests.accounts.outage import Ledger
from tests.support.services.polling import wait_until

NOW_MS = 1_780_000_000_000


@pytest.fixture
def ledger(sqlite_url: str) -> Iterator[Ledger]:
    ledger = Ledger(Path(sqlite_url.removeprefix("sqlite:///")))
    yield ledger
    ledger.engine.dispose()


def created(engine: Engine) -> tuple[Accounts, ApiKey, str]:
    accounts = Accounts(engine)
    accounts.create("acme", "n")
    return accounts, *accounts.create_key(["acme"], ["completions"])


def last_used_ms(accounts: Accounts) -> list[int | None]:
    return [key.last_used_at_ms for key in accounts.list_keys()]


def test_a_use_is_stored_by_itself(engine: Engine) -> None:
    accounts, key, secret = created(engine)
    used = LastUsed(engine, store_every_s=0.01)
    KeyRing(accounts, 5, now_s=lambda: NOW_MS / 1000, last_used=used).authenticate(secret)
    wait_until(lambda: last_used_ms(accounts) == [NOW_MS])
    used.note(key, secret, NOW_MS + APART_MS)
    wait_until(lambda: last_used_ms(accounts) == [NOW_MS + APART_MS])
    used.close()


def test_many_uses_are_one_write_and_a_process_that_ends_stores_the_last(engine: Engine) -> None:
    accounts, key, secret = created(engine)
    used, other = LastUsed(engine), LastUsed(engine)
    for n in range(100):
        used.note(key, secret, NOW_MS + n)
    assert last_used_ms(accounts) == [None]
    used.close()
    assert last_used_ms(accounts) == [NOW_MS + 99]
    other.note(key, secret, NOW_MS + APART_MS)  # less than a minute later: not worth a write
    other.close()
    assert last_used_ms(accounts) == [NOW_MS + 99]


def test_a_use_while_the_ledger_is_down_is_stored_later(ledger: Ledger) -> None:
    accounts, key, secret = created(ledger.engine)
    used = LastUsed(ledger.engine, store_every_s=0.05)
    ledger.take_away()
    used.note(key, secret, NOW_MS)
    used.store()
    ledger.bring_back()
    wait_until(lambda: last_used_ms(accounts) == [NOW_MS])
    used.close()


def test_a_key_from_before_prefixes_were_stored_gets_its_prefix_with_its_next_use(
    engine: Engine,
) -> None:
    accounts, key, secret = created(engine)
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(update(api_keys).values(secret_prefix=None))
    used = LastUsed(engine)
    KeyRing(accounts, 5, last_used=used).authenticate(secret.encode())
    used.close()
    found = accounts.get_key(key.key_id)
    assert found is not None
    assert found.secret_prefix == secret[:11]
