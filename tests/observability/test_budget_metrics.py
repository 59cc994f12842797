"""How many budgets are nearly spent."""

import time
from pathlib import Path

from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.ledger.posting import Ledger
from app.ledger.reports.reader import UsageReader
from app.observability.budget_metrics import BudgetCollector
from app.pricing.price_book import PriceBook
from app.storage.sql.engine import create_engine
from tests.support.events import usage_event

#: What one event of the tests costs, in nano-dollars.
COST = 1650


def collected(collector: BudgetCollector) -> dict[str, float]:
    return {
        sample.labels["state"]: sample.value
        for family in collector.collect()
        for sample in family.samples
    }


def test_budgets_are_counted_by_state_and_nobody_is_named(
    engine: Engine, prices: PriceBook
) -> None:
    accounts = Accounts(engine)
    for name, budget in (("a", COST), ("b", COST * 10 // 9), ("c", COST * 100), ("d", None)):
        accounts.create(name, name)
        if budget is not None:
            accounts.set_limits("account", name, budget_nanousd=budget)
    now_ms = time.time_ns() // 1_000_000
    Ledger(engine, prices).post(
        [usage_event(account_id=name, started_at_ms=now_ms) for name in ("a", "b", "c", "d")]
    )
    collector = BudgetCollector(accounts, UsageReader(engine))
    assert collected(collector) == {"ok": 1, "near": 1, "over": 1}


def test_without_a_ledger_there_is_no_number(tmp_path: Path) -> None:
    nowhere = create_engine(f"sqlite:///{tmp_path / 'new.db'}")  # without tables
    assert collected(BudgetCollector(Accounts(nowhere), UsageReader(nowhere))) == {}
    nowhere.dispose()
