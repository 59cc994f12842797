"""What a re-pricing would change."""

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.repricing import past_repricings, preview, reprice
from app.ledger.repricing_plan import CostChange
from app.pricing.price_book import NO_PRICES, PriceBook
from app.storage.sql.tables import entries
from tests.ledger.ledgers import MIDNIGHT_S, at, rows

START_MS, END_MS = MIDNIGHT_S * 1000, (MIDNIGHT_S + 3600) * 1000


def test_a_preview_says_what_would_change_and_changes_nothing(
    engine: Engine, prices: PriceBook
) -> None:
    ledger = Ledger(engine, NO_PRICES)
    known = {"model": "m", "model_served": "m"}
    ledger.post(at(n, account_id=account, **known) for account in ("a", "b") for n in range(4))
    ledger.post([at(0, account_id="a", model="new")])
    before = rows(engine, entries)
    found = list(preview(engine, prices, START_MS, END_MS, 2))
    assert sum(batch.examined for batch in found) == 9
    total: dict[tuple[str, str], CostChange] = {}
    for batch in found:
        for key, it in batch.changes.items():
            one = total.get(key, CostChange(0, 0, 0))
            total[key] = CostChange(*(x + y for x, y in zip(one, it, strict=True)))
    change = CostChange(4, 0, 4 * 1_650)
    assert total == {("a", "openai/m"): change, ("b", "openai/m"): change}
    assert (rows(engine, entries), past_repricings(engine)) == (before, [])
    assert sum(it.added_nanousd for it in reprice(engine, prices, START_MS, END_MS)) == 8 * 1_650
    assert sum(it.changed for it in preview(engine, prices, START_MS, END_MS)) == 0
