"""Damage to rollups, and how to find and repair it."""

import random
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger.reconcile import (
    Difference,
    day_ranges,
    differences,
    rebuild,
)
from app.storage.sql.tables import ENDPOINT_TABLES, ROLLUP_TABLES, SLOT_S
from app.storage.sql.transactions import reading
from app.usage.messages.event import UsageEvent
from tests.ledger.ledgers import as_posted, ledger_of

SLOT_MS = SLOT_S * 1000


def change(engine: Engine, statement: sa.Executable) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(statement)


def found(engine: Engine, batch_size: int = 50) -> list[Difference]:
    return [it for days in day_ranges(engine, batch_size) for it in differences(engine, days)]


def repair(engine: Engine, batch_size: int = 50) -> list[Difference]:
    return [it for days in day_ranges(engine, batch_size) for it in rebuild(engine, days)]


def damage(engine: Engine, chance: random.Random) -> None:
    for table in (*ROLLUP_TABLES.values(), *ENDPOINT_TABLES.values()):
        damage_table(engine, table, chance)


def damage_table(engine: Engine, table: sa.Table, chance: random.Random) -> None:
    with reading(engine) as connection:
        keys = connection.execute(sa.select(*table.primary_key)).all()
    for key in keys:
        this = sa.and_(*(c == v for c, v in zip(table.primary_key, key, strict=True)))
        more = {"requests": table.c.requests + chance.randint(-3, 3), "total_tokens": 2**41}
        statements: list[Any] = [table.delete(), table.update().values(more), None]
        statement = chance.choice(statements)
        if statement is not None:
            change(engine, statement.where(this))


def agrees(engine: Engine, events: list[UsageEvent]) -> bool:
    kept, sums = ledger_of(engine)
    return (kept, [row for row in sums if row["requests"]]) == as_posted(events)
