"""Corrections: changes of costs that budgets have counted, summed by key and day."""

from typing import Any

import pytest
from sqlalchemy import Engine

from app.ledger.corrections import Change, change_of, correct
from app.ledger.posting import Ledger
from app.pricing.price_book import PriceBook
from app.storage.sql.tables import DAY_S, corrections
from app.storage.sql.transactions import write
from tests.ledger.ledgers import MIDNIGHT_S, at, rows


def stored(engine: Engine) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows(engine, corrections)]


@pytest.mark.parametrize(
    ("second", "day_s"),
    [(0, MIDNIGHT_S), (DAY_S - 0.001, MIDNIGHT_S), (-0.001, MIDNIGHT_S - DAY_S)],
)
def test_a_change_belongs_to_the_utc_day_on_which_the_request_started(
    second: float, day_s: int
) -> None:
    assert change_of(at(second), -7) == Change("acct_1", "key_1", day_s, -7)


def test_changes_are_added_up_by_account_key_and_day(engine: Engine) -> None:
    first = [Change("b", "k", 0, 5), Change("a", "k", 0, 1), Change("b", "k", 0, -7)]
    write(engine, lambda connection: correct(connection, first))
    assert stored(engine) == [("a", "k", 0, 1, 1), ("b", "k", 0, 2, -2)]
    more = [Change("b", "k", 0, 3), Change("b", "k", DAY_S, 4), Change("b", "j", 0, 6)]
    write(engine, lambda connection: correct(connection, more))
    assert stored(engine) == [
        ("a", "k", 0, 1, 1),
        ("b", "j", 0, 1, 6),
        ("b", "k", 0, 3, 1),
        ("b", "k", DAY_S, 1, 4),
    ]


def test_a_change_of_nothing_is_not_stored(engine: Engine) -> None:
    write(engine, lambda connection: correct(connection, [Change("a", "k", 0, 0)]))
    write(engine, lambda connection: correct(connection, []))
    assert stored(engine) == []


def test_a_post_corrects_what_budgets_were_charged(engine: Engine, prices: PriceBook) -> None:
    """A request of 3 + 2 tokens costs 1,650 nano-dollars."""
    dearer, cheaper, exact, uncharged = (at(n, model="m", model_served="m") for n in range(4))
    charged = {dearer.event_id: 1_000, cheaper.event_id: 2_000, exact.event_id: 1_650}
    Ledger(engine, prices).post([dearer, cheaper, exact, uncharged], charged)
    assert stored(engine) == [("acct_1", "key_1", MIDNIGHT_S, 2, 650 - 350)]
    Ledger(engine, prices).post([dearer], charged)
    assert stored(engine) == [("acct_1", "key_1", MIDNIGHT_S, 2, 650 - 350)]
