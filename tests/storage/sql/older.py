"""Entries in a ledger with an older schema, written and read by its columns alone."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from app.storage.sql.transactions import reading
from app.usage.messages.event import UsageEvent


def add_entries(engine: Engine, events: Iterable[UsageEvent]) -> None:
    """Insert the entries of events, without rollups, as far as the schema has columns."""
    with engine.begin() as connection:
        names = set(columns_of(connection)) & set(UsageEvent.__struct_fields__) - {"calls"}
        table = sa.table("entries", *(sa.column(name) for name in sorted(names)))
        rows = [{name: getattr(event, name) for name in names} for event in events]
        connection.execute(table.insert(), rows)


def entries_in(engine: Engine, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Return the entries in the order of their ids, with these columns or all."""
    with reading(engine) as connection:
        wanted = sorted(names or columns_of(connection))
        table = sa.table("entries", *(sa.column(name) for name in wanted))
        found = connection.execute(sa.select(table).order_by(table.c.event_id))
        return [dict(row._mapping) for row in found]


def columns_of(connection: Connection) -> list[str]:
    """Return the names of the columns of `entries`."""
    return [it["name"] for it in sa.inspect(connection).get_columns("entries")]
