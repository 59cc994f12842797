"""Short times of all accounts are read by the index, however much the ledger has."""

import re

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.dialects import sqlite

from app.ledger.posting import Ledger
from app.ledger.reports.any_account import FEW_SLOTS, of_any_account
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.slices import TableSlice
from app.ledger.slots import DAY_S, SLOT_S
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import rollups
from app.storage.sql.transactions import reading
from tests.ledger.ledgers import MIDNIGHT_S
from tests.support.events import usage_event


@pytest.mark.parametrize("slots", [1, FEW_SLOTS])
def test_a_few_slots_are_searched_account_by_account(sqlite_url: str, slots: int) -> None:
    part = TableSlice(rollups, 0, slots * SLOT_S, SLOT_S)
    within = (rollups.c.slot_s >= part.start_s, rollups.c.slot_s < part.end_s)
    statement = select(rollups.c.requests).where(*within, *of_any_account(part))
    text = str(statement.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    engine = create_engine(sqlite_url)
    with reading(engine) as connection:
        plan = [str(it[3]) for it in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}")]
    engine.dispose()
    assert [it for it in plan if re.search(r"SEARCH rollups .*account_id=\? AND slot_s>\?", it)]
    assert not [it for it in plan if re.search("SCAN rollups", it)]


def test_many_slots_are_read_as_the_database_likes() -> None:
    assert of_any_account(TableSlice(rollups, 0, (FEW_SLOTS + 1) * SLOT_S, SLOT_S)) == ()
    listed = tuple(range(0, (FEW_SLOTS + 1) * SLOT_S, SLOT_S))
    assert of_any_account(TableSlice(rollups, 0, 0, SLOT_S, listed)) == ()


def test_every_account_is_found_also_by_endpoint(engine: Engine) -> None:
    names = ["A", "a", "a_", "a-b", "\N{LATIN SMALL LETTER E WITH ACUTE}", "zz"]
    Ledger(engine).post(
        usage_event(
            event_id=f"{name}-{endpoint}",
            account_id=name,
            endpoint=endpoint,
            started_at_ms=MIDNIGHT_S * 1000 + 1,
        )
        for name in names
        for endpoint in ("completions", "chat.completions")
    )
    for length_s in (SLOT_S, 3600, DAY_S, 2 * DAY_S + SLOT_S):
        query = UsageQuery(MIDNIGHT_S, MIDNIGHT_S + length_s, group_by=("account", "endpoint"))
        found = [(it.account_id, it.requests) for it in UsageReader(engine).rows(query)]
        assert found == [(name, 1) for name in sorted(names, key=str.encode) for _ in range(2)]


def test_an_empty_ledger_has_no_account(engine: Engine) -> None:
    assert UsageReader(engine).rows(UsageQuery(MIDNIGHT_S, MIDNIGHT_S + SLOT_S)) == []
