"""Adding to the rollups."""

import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.storage.sql.tables import ENDPOINT_TABLES, ROLLUP_TABLES
from app.storage.sql.transactions import reading
from tests.ledger.ledgers import at
from tests.support.events import usage_event

#: Slots of the three events: of one day, two hours and three quarters.
EVENTS = [at(second, endpoint="chat.completions") for second in (0, 900, 3600)]


def counts(engine: Engine, tables: dict[int, sa.Table]) -> list[list[int]]:
    """Return the requests of each slot, from the widest slots to the narrowest."""
    with reading(engine) as connection:
        return [
            list(connection.scalars(sa.select(it.c.requests).order_by(it.c.slot_s)))
            for it in tables.values()
        ]


def test_each_width_sums_all_endpoints_and_every_endpoint_but_completions(engine: Engine) -> None:
    Ledger(engine).post([*EVENTS, usage_event(started_at_ms=EVENTS[0].started_at_ms)])
    assert counts(engine, ROLLUP_TABLES) == [[4], [3, 1], [2, 1, 1]]
    assert counts(engine, ENDPOINT_TABLES) == [[3], [2, 1], [1, 1, 1]]


def test_later_posts_are_added_to_what_is_there(engine: Engine) -> None:
    for event in EVENTS:
        Ledger(engine).post([event])
    assert counts(engine, ENDPOINT_TABLES) == [[3], [2, 1], [1, 1, 1]]
