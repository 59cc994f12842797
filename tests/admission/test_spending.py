"""What was spent by the ledger's sums, and how long they are cached."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.admission.spending import CACHE_S, Spending
from app.ledger.posting import Ledger
from app.pricing.price_book import PriceBook, load_prices
from app.storage.sql.engine import create_engine
from app.vocabulary.limits import Kind, Limits
from tests.support.events import usage_event

#: 2026-11-01, in Unix seconds.
NOVEMBER_S = 1_793_491_200


@dataclass
class Clock:
    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def prices(tmp_path: Path) -> PriceBook:
    """A token of `openai/m` costs a thousand nano-dollars."""
    path = tmp_path / "prices.toml"
    path.write_text('[[prices]]\nmodel = "openai/m"\ninput = 1\noutput = 1\n')
    return load_prices(path)


def limits(kind: Kind, subject_id: str) -> Limits:
    return Limits(kind=kind, subject_id=subject_id, budget_nanousd=1)


def post(engine: Engine, prices: PriceBook, **changes: Any) -> None:
    event = usage_event(model_served=None, **{"started_at_ms": NOVEMBER_S * 1000, **changes})
    Ledger(engine, prices).post([event])


def test_spending_is_that_of_the_account_or_key_in_the_period(
    engine: Engine, prices: PriceBook
) -> None:
    accounts = Accounts(engine)
    for account_id in ("acme", "ACME"):
        accounts.create(account_id, account_id)
    key, _ = accounts.create_key(["acme", "ACME"], {"completions"})
    post(engine, prices, account_id="acme", api_key_id=key.key_id)
    post(engine, prices, account_id="acme", api_key_id="other")
    post(engine, prices, account_id="ACME", api_key_id=key.key_id)
    post(engine, prices, account_id="acme", started_at_ms=NOVEMBER_S * 1000 - 1)
    post(engine, prices, account_id="acme", model="unpriced")
    spending = Spending(engine)
    assert spending.since(limits("account", "acme"), NOVEMBER_S).nanousd == 10_000
    assert spending.since(limits("account", "acme"), NOVEMBER_S - 86_400).nanousd == 15_000
    assert spending.since(limits("key", key.key_id), NOVEMBER_S).nanousd == 10_000
    assert spending.since(limits("account", "nobody"), NOVEMBER_S).nanousd == 0


def test_the_ledgers_sums_are_cached_for_a_while(
    engine: Engine, prices: PriceBook, clock: Clock
) -> None:
    spending, acme = Spending(engine, clock_s=clock), limits("account", "acme")
    assert spending.since(acme, NOVEMBER_S).nanousd == 0
    post(engine, prices, account_id="acme")
    clock.now_s += CACHE_S - 1
    assert spending.since(acme, NOVEMBER_S).nanousd == 0
    clock.now_s += 1
    assert spending.since(acme, NOVEMBER_S).nanousd == 5_000


def test_while_the_ledger_is_unavailable_its_last_sums_are_used(
    sqlite_url: str,
    prices: PriceBook,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = create_engine(sqlite_url)
    post(engine, prices, account_id="acme")
    spending, acme = Spending(engine, clock_s=clock), limits("account", "acme")
    assert spending.since(acme, NOVEMBER_S).nanousd == 5_000
    engine.dispose()
    Path(sqlite_url.removeprefix("sqlite:///")).rename(f"{sqlite_url[10:]}.away")
    clock.now_s += CACHE_S
    with caplog.at_level(logging.WARNING):
        assert spending.since(acme, NOVEMBER_S).nanousd == 5_000
        assert spending.since(acme, NOVEMBER_S).nanousd == 5_000
        assert spending.since(limits("account", "new"), NOVEMBER_S).nanousd == 0
    assert len(caplog.records) == 2  # queried once per minute, not once per request
    assert "account acme is checked with old sums" in caplog.text
    engine.dispose()
