"""The tables, as the migrations create them."""

from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine

from app.storage.sql.tables import metadata
from app.storage.sql.transactions import reading
from tests.storage.sql.account_rows import account_ids, add

#: On PostgreSQL, the partitions of entries are tables, too.
PARTITIONS = ("entries_initial", "entries_default", "entries_2")
OPTIONS: dict[str, Any] = {
    "compare_type": True,
    "include_name": lambda name, _kind, _parents: not str(name).startswith(PARTITIONS),
}


def test_text_compares_and_sorts_byte_by_byte(engine: Engine) -> None:
    for account_id in ("b", "a", "A", "é", "B", "a-1"):
        add(engine, account_id)
    assert account_ids(engine) == ["A", "B", "a", "a-1", "b", "é"]


def test_the_migrations_create_the_tables(engine: Engine) -> None:
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts=OPTIONS)
        assert compare_metadata(context, metadata) == []
