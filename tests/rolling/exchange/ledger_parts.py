"""The ledger: accounts, keys, limits, sessions, entries with their prices and corrections."""

from typing import Any

from app.accounts.accounts import Accounts
from app.accounts.sessions import Sessions
from app.ledger.posting import Ledger
from app.ledger.repricing import past_repricings, reprice
from app.pricing.price_book import NO_PRICES
from app.storage.sql.migrations import schema_is_current
from tests.rolling.exchange.samples import (
    STARTED_MS,
    Parts,
    engine,
    entry,
    event,
    known,
    new_id,
    prices,
    surplus,
)


def write_account() -> list[str]:
    """An account, its key and its limits, and a session of the dashboard."""
    accounts, name = Accounts(engine()), new_id()
    accounts.create(name, "Zoë")
    key, secret = accounts.create_key([name], ["completions", "usage"], expires_at_ms=2**42)
    accounts.set_limits("account", name, requests_per_minute=5, budget_nanousd=7)
    return [name, key.key_id, secret, Sessions(engine()).begin(key)]


def read_account(told: Any) -> Any:
    name, key_id, secret, token = told
    accounts, sessions = Accounts(engine()), Sessions(engine())
    key = accounts.find_key(secret)
    assert key is not None
    found = [key.key_id == key_id, list(key.account_ids) == [name], sorted(key.scopes)]
    limits = accounts.limits("account", name)
    session = sessions.key_id(token) == key_id
    accounts.revoke(key_id)
    sessions.end(token)
    revoked = accounts.find_key(secret)
    assert revoked is not None
    after = [revoked.is_live(STARTED_MS), sessions.key_id(token)]
    return [found, limits.requests_per_minute, limits.budget_nanousd, session, after]


def write_entry() -> list[str]:
    """Entries, an estimate among them, which the reader's events repeat and replace."""
    ids = [new_id(), new_id()]
    counts = {"completion_tokens": 1, "total_tokens": 31, "reasoning_tokens": 0}
    guess = event(ids[1], **counts, status="abandoned", calls=())
    Ledger(engine(), prices()).post([event(ids[0]), guess])
    return ids


def read_entry(told: Any) -> Any:
    before = [entry(it)["cost_nanousd"] for it in told]
    new = Ledger(engine(), prices()).post([event(it) for it in told])
    after = [known(entry(it)) for it in told]
    return [schema_is_current(engine()), before, new, after, surplus()]


def write_repricing() -> list[str]:
    """Entries that the writer could not price, which the reader does."""
    ids = [new_id()]
    Ledger(engine()).post([event(it) for it in ids])
    list(reprice(engine(), NO_PRICES, STARTED_MS, STARTED_MS + 1))
    return ids


def read_repricing(told: Any) -> Any:
    logged = len(past_repricings(engine())) > 0
    list(reprice(engine(), prices(), STARTED_MS, STARTED_MS + 1))
    return [logged, [entry(it)["cost_nanousd"] for it in told], surplus()]


PARTS: Parts = {
    "account": (write_account, read_account),
    "entry": (write_entry, read_entry),
    "repricing": (write_repricing, read_repricing),
}
