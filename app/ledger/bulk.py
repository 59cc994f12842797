"""Writes many rows in one statement, in the way that is fastest on each database.

Does not depend on usage events. SQLite gets rows directly from the driver, because SQLAlchemy's
processing of each row takes longer than SQLite itself. PostgreSQL gets each column as one array:
a parameter for each value takes ten times as long, and all rows as JSON 1.5 times as long.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY

from app.storage.sql.tables import ROLLUP_MEASURES, entries

#: A row's values, in the order of its table's columns.
Row = tuple[Any, ...]

#: Python's types -> those of a column's array.
_TYPES: Mapping[type, sa.types.TypeEngine[Any]] = {
    str: sa.Text(),
    int: sa.BigInteger(),
    bool: sa.Boolean(),
}

#: An escape of JSON that PostgreSQL may not understand: a backslash before any character but `"`
#: and a backslash.
_ESCAPE = re.compile(rb'\\[^"\\]')


def add_entries(connection: Connection, rows: Sequence[Row]) -> set[str]:
    """Insert the entries whose ids are new; return those ids.

    Shapes: rows of `entries` with distinct ids, in the order of ids.
    """
    if connection.dialect.name == "postgresql":
        return set(connection.execute(_new_from_arrays(), _as_arrays(entries, rows)).scalars())
    # No other transaction can write in between: this one holds SQLite's write lock.
    ids = {"ids": orjson.dumps([row[0] for row in rows]).decode()}
    known = set(connection.execute(_known(), ids).scalars())
    new = [row for row in rows if row[0] not in known]
    if new:
        connection.exec_driver_sql(_insert_text(), new)
    return {row[0] for row in new}


def add_sums(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows of measures, in the order of their keys, to the rollups in `table`.

    What a row has beyond the table's columns is left out.
    """
    if not rows:
        return
    values_of = itemgetter(*table.c.keys())
    values = [values_of(row) for row in rows]
    if connection.dialect.name == "postgresql":
        connection.execute(_upsert_from_arrays(table), _as_arrays(table, values))
    else:
        connection.exec_driver_sql(_upsert_text(table), values)


@cache
def _known() -> sa.Select[str]:
    wanted = sa.func.json_each(sa.bindparam("ids", type_=sa.Text)).table_valued("value")
    return sa.select(entries.c.event_id).where(entries.c.event_id.in_(sa.select(wanted.c.value)))


@cache
def _insert_text() -> str:
    return str(sqlite.insert(entries).compile(dialect=sqlite.dialect()))


@cache
def _upsert_text(table: Table) -> str:
    statement = sqlite.insert(table)
    added = {name: table.c[name] + statement.excluded[name] for name in ROLLUP_MEASURES}
    upsert = statement.on_conflict_do_update(index_elements=table.primary_key, set_=added)
    return str(upsert.compile(dialect=sqlite.dialect()))


@cache
def _new_from_arrays() -> sa.Executable:
    insert = postgresql.insert(entries).from_select(entries.c.keys(), _unnested(entries))
    return insert.on_conflict_do_nothing(index_elements=["event_id"]).returning(entries.c.event_id)


@cache
def _upsert_from_arrays(table: Table) -> sa.Insert:
    statement = postgresql.insert(table).from_select(table.c.keys(), _unnested(table))
    added = {name: table.c[name] + statement.excluded[name] for name in ROLLUP_MEASURES}
    return statement.on_conflict_do_update(index_elements=table.primary_key, set_=added)


def _unnested(table: Table) -> sa.Select[Any]:
    arrays = [
        sa.cast(sa.bindparam(it.name, type_=sa.Text), ARRAY(_TYPES[it.type.python_type]))
        for it in table.c
    ]
    names = [sa.column(it.name, it.type) for it in table.c]
    return sa.select(sa.func.unnest(*arrays).table_valued(*names).render_derived())


def _as_arrays(table: Table, rows: Sequence[Row]) -> dict[str, str]:
    columns = zip(table.c, zip(*rows, strict=True), strict=True)
    return {column.name: array_literal(values) for column, values in columns}


def array_literal(values: Sequence[str | int | bool | None]) -> str:
    """Return values as a PostgreSQL array literal of text, integers or booleans.

    It equals JSON except for the brackets and for escaped control characters.
    Source: PostgreSQL's manual, "Array Input and Output Syntax".
    """
    inner = orjson.dumps(values)[1:-1]
    if _ESCAPE.search(inner):
        return f"{{{','.join(map(_element, values))}}}"
    return f"{{{inner.decode()}}}"


def _element(value: str | int | bool | None) -> str:
    if isinstance(value, str):
        return '"{}"'.format(value.replace("\\", "\\\\").replace('"', '\\"'))
    return orjson.dumps(value).decode()
