"""The measures of an entry: the same in SQL as in the rollups that posting adds."""

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger.measures import ENTRY_MEASURES, IS_EMPTY
from app.ledger.posting import Ledger
from app.pricing.price_book import PriceBook
from app.storage.sql.tables import ROLLUP_MEASURES, entries, rollups
from app.storage.sql.transactions import reading
from tests.ledger.ledgers import at, rows


def test_the_measures_are_in_the_order_of_the_rollups() -> None:
    assert tuple(it.name for it in ENTRY_MEASURES) == ROLLUP_MEASURES


@pytest.mark.parametrize("tokens", [0, 2])
@pytest.mark.parametrize("model", ["m", "unpriced"])
@pytest.mark.parametrize(
    ("status", "source"),
    [
        ("completed", "vendor"),
        ("completed", "estimated"),
        ("disconnected", "drained"),
        ("failed", "none"),
        ("truncated", "vendor"),
        ("abandoned", "estimated"),
    ],
)
def test_an_entry_measures_what_posting_adds_to_its_rollup(
    engine: Engine, prices: PriceBook, status: str, source: str, model: str, tokens: int
) -> None:
    counts = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
    event = at(0, status=status, source=source, model=model, model_served=model, **counts)
    Ledger(engine, prices).post([event])
    (rollup,) = rows(engine, rollups)
    with reading(engine) as connection:
        measured = connection.execute(sa.select(*ENTRY_MEASURES)).mappings().one()
    assert dict(measured) == {name: rollup[name] for name in ROLLUP_MEASURES}


@pytest.mark.parametrize(
    ("counts", "empty"),
    [
        ({}, True),
        ({"prompt_tokens": 1}, False),
        ({"completion_tokens": 1}, False),
        ({"total_tokens": 1}, False),
    ],
)
def test_an_entry_is_empty_if_it_used_no_tokens(
    engine: Engine, counts: dict[str, int], empty: bool
) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    Ledger(engine).post([at(0, **nothing | counts)])
    with reading(engine) as connection:
        found = connection.scalar(sa.select(sa.func.count()).select_from(entries).where(IS_EMPTY))
    assert found == int(empty)
