"""Adds sums of entries to the rollups: of every width, of all endpoints and of each."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table

from app.ledger.bulk import add_sums
from app.storage.sql.tables import (
    DAY_S,
    ENDPOINT_KEY,
    ENDPOINT_TABLES,
    HOUR_S,
    ROLLUP_KEY,
    ROLLUP_MEASURES,
    ROLLUP_TABLES,
    SLOT_S,
)
from app.vocabulary.request import COMPLETIONS


def add_to_rollups(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Add rows of 15-minute sums by endpoint to the rollups of every width.

    All writers lock rows in one order: that of the tables here, and of the rows' keys.
    """
    of_others = [row for row in rows if row["endpoint"] != COMPLETIONS]
    of_all = folded(rows, SLOT_S, ROLLUP_KEY) if of_others else rows
    _add_widths(connection, ROLLUP_TABLES, ROLLUP_KEY, of_all)
    _add_widths(connection, ENDPOINT_TABLES, ENDPOINT_KEY, of_others)


def _add_widths(
    connection: Connection,
    tables: Mapping[int, Table],
    key: Sequence[str],
    rows: list[dict[str, Any]],
) -> None:
    hours = folded(rows, HOUR_S, key)
    add_sums(connection, tables[SLOT_S], rows)
    add_sums(connection, tables[HOUR_S], hours)
    add_sums(connection, tables[DAY_S], folded(hours, DAY_S, key))


def folded(rows: list[dict[str, Any]], width_s: int, key: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows summed by slots of this width and the rest of `key`, in the order of keys."""
    wide: dict[tuple[Any, ...], dict[str, Any]] = {}
    names = (*key, *ROLLUP_MEASURES)
    for row in rows:
        moved = {name: row[name] for name in names}
        moved["slot_s"] = row["slot_s"] // width_s * width_s
        known = wide.setdefault(tuple(moved[name] for name in key), moved)
        if known is not moved:
            for name in ROLLUP_MEASURES:
                known[name] += row[name]
    return [wide[it] for it in sorted(wide)]
