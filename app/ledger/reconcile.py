"""Compares the ledger's rollups with its entries, and repairs the rollups.

Entries and rollups are written in one transaction. They differ only if something other than
Tollgate changed one of them, or an older version did not know a kind of rollup.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, ColumnElement, Connection, Engine, Select, func, select

from app.ledger.bulk import add_sums
from app.ledger.corrections import Change, correct
from app.ledger.measures import ENTRY_MEASURES, NEWLY_FAILED
from app.ledger.retention import pruned_until_s
from app.storage.sql.postgresql import without_time_limit
from app.storage.sql.tables import (
    DAY_S,
    ENDPOINT_TABLES,
    ROLLUP_MEASURES,
    ROLLUP_TABLES,
    daily_rollups,
    entries,
)
from app.storage.sql.transactions import reading, write
from app.usage.messages.message import NUMBER_LIMIT
from app.vocabulary.request import COMPLETIONS

#: Entries per statement; more if a single day has more.
BATCH_SIZE = 50_000

#: Every table of rollups with the width of its slots; the widest first, by endpoint last.
TABLES: tuple[tuple[int, sa.Table], ...] = (*ROLLUP_TABLES.items(), *ENDPOINT_TABLES.items())

#: The end of the last possible slot, in Unix seconds.
END_S = NUMBER_LIMIT // 1000 + DAY_S


@dataclass(frozen=True, slots=True)
class DayRange:
    """An account's days in Unix seconds, `end_s` exclusive, and the number of their entries."""

    account_id: str
    start_s: int
    end_s: int
    entry_count: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A rollup that differs from its entries.

    `lacks` maps measures to the amounts that are missing; negative amounts are surplus.
    """

    account_id: str
    slot_s: int
    api_key_id: str
    vendor: str
    model: str
    lacks: dict[str, int]
    #: Width of the rollup's slot: 15 minutes, an hour or a day.
    width_s: int
    #: The endpoint of a rollup by endpoint; None for one of all endpoints.
    endpoint: str | None = None


def count_entries(engine: Engine) -> int:
    """Return the number of all entries.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        without_time_limit(connection)
        return connection.scalar(select(func.count()).select_from(entries)) or 0


def day_ranges(engine: Engine, batch_size: int = BATCH_SIZE) -> Iterator[DayRange]:
    """Divide each account's days into ranges of about `batch_size` entries, without gaps.

    Pruned days are left out, because they have no entries to compare rollups with.
    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        first_s = pruned_until_s(connection)
    account_id = _next_account(engine, None)
    while account_id is not None:
        start_s = first_s
        while start_s < END_S:
            yield (days := _next_range(engine, account_id, start_s, batch_size))
            start_s = days.end_s
        account_id = _next_account(engine, account_id)


def differences(
    engine: Engine, days: DayRange, *, accepts_former: bool = False
) -> list[Difference]:
    """Return the rollups that are not the sums of their entries, widest slots first, then by key.

    Those by endpoint come last. Each table is compared in one statement, which sees a concurrent
    post completely or not at all.
    `accepts_former`: a rollup of the version before does not differ because it counts only
    FORMER_FAILED_STATUSES as failed.
    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        return [
            _difference(row, width_s)
            for width_s, table in TABLES
            for row in _lacking(connection, days, (width_s, table), accepts_former)
        ]


def rebuild(engine: Engine, days: DayRange) -> list[Difference]:
    """Repair the rollups of a range in one transaction; return the differences that were repaired.

    Posts may run at the same time. A post changes entries and rollups by the same amounts, so the
    difference that is added stays correct before and after it.
    Raises: LedgerUnavailable, nothing changed.
    """
    return write(engine, lambda connection: _rebuild(connection, days))


def _rebuild(connection: Connection, days: DayRange) -> list[Difference]:
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
        # Excludes a concurrent rebuild, which would add the same again; posts do not wait.
        connection.execute(sa.text("LOCK TABLE rollups IN SHARE UPDATE EXCLUSIVE MODE"))
    repaired = []
    for width_s, table in TABLES:
        lacking = _lacking(connection, days, (width_s, table))
        add_sums(connection, table, lacking)
        if table is daily_rollups:
            correct(connection, _surplus_costs(lacking))
        repaired += [_difference(row, width_s) for row in lacking]
    return repaired


def _surplus_costs(lacking: Iterable[dict[str, Any]]) -> Iterator[Change]:
    """Yield the costs that are removed from days, because budgets have counted them."""
    for row in lacking:
        if row["cost_nanousd"] < 0:
            key = (row["account_id"], row["api_key_id"], row["slot_s"])
            yield Change(*key, row["cost_nanousd"])


def _lacking(
    connection: Connection,
    days: DayRange,
    rollups: tuple[int, sa.Table],
    accepts_former: bool = False,
) -> list[dict[str, Any]]:
    """Return the row to add to each rollup that is wrong, in the order of their keys.

    `rollups` are the width of the slots and the table.
    """
    found = connection.execute(_statement(days, *rollups, accepts_former)).mappings()
    names = [column.name for column in rollups[1].c]
    return [{name: row[name] for name in names} for row in found]


def _statement(days: DayRange, width_s: int, table: sa.Table, accepts_former: bool) -> Select[Any]:
    names = table.primary_key.columns.keys()
    width, width_ms = (sa.literal_column(str(n), BigInteger) for n in (width_s, width_s * 1000))
    slot_s = (entries.c.started_at_ms // width_ms * width).label("slot_s")
    of_entry = [slot_s if name == "slot_s" else entries.c[name] for name in names]
    of_rollup = [table.c[name] for name in names]
    subtracted = [(-table.c[name]).label(name) for name in ROLLUP_MEASURES]
    source = sa.union_all(
        select(*of_entry, *ENTRY_MEASURES, NEWLY_FAILED).where(*_entries_of(days, table)),
        select(*of_rollup, *subtracted, _NONE).where(*_rollups_of(days, table)),
    ).subquery()
    key = [source.c[name] for name in names]
    sums = [func.sum(source.c[name]) for name in ROLLUP_MEASURES]
    newly = func.sum(source.c.newly_failed) if accepts_former else _NONE
    return (
        # On PostgreSQL, the sum of bigint columns is numeric.
        select(*key, *(sa.cast(s, BigInteger).label(n) for n, s in _named(sums)))
        .group_by(*key)
        .having(sa.or_(*(_is_wrong(s, n, newly) for n, s in _named(sums))))
        .order_by(*key)
    )


def _is_wrong(
    lacks: ColumnElement[Any], name: str, newly: ColumnElement[Any]
) -> ColumnElement[bool]:
    """Whether a measure lacks anything; of the failed requests, up to `newly` may be lacking."""
    return sa.not_(lacks.between(0, newly)) if name == "failed_requests" else lacks != 0


_NONE = sa.literal_column("0", BigInteger)


def _named(sums: list[Any]) -> Iterator[tuple[str, Any]]:
    return zip(ROLLUP_MEASURES, sums, strict=True)


def _entries_of(days: DayRange, table: sa.Table = daily_rollups) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a range's entries that a table of rollups sums."""
    of_days = (
        entries.c.account_id == days.account_id,
        entries.c.started_at_ms >= days.start_s * 1000,
        entries.c.started_at_ms < days.end_s * 1000,
    )
    return (*of_days, entries.c.endpoint != COMPLETIONS) if "endpoint" in table.c else of_days


def _rollups_of(days: DayRange, table: sa.Table) -> tuple[ColumnElement[bool], ...]:
    return (
        table.c.account_id == days.account_id,
        table.c.slot_s >= days.start_s,
        table.c.slot_s < days.end_s,
    )


def _difference(row: dict[str, Any], width_s: int) -> Difference:
    lacks = {name: row[name] for name in ROLLUP_MEASURES if row[name]}
    key = {name: value for name, value in row.items() if name not in ROLLUP_MEASURES}
    return Difference(**key, lacks=lacks, width_s=width_s)


def _next_account(engine: Engine, last: str | None) -> str | None:
    """Return the account after `last` in byte order, of entries and rollups; None at the end."""
    found = []
    with reading(engine) as connection:
        for table in (entries, *(it for _, it in TABLES)):
            column = table.c.account_id
            query = select(func.min(column))
            found.append(connection.scalar(query if last is None else query.where(column > last)))
    return min((account_id for account_id in found if account_id is not None), default=None)


def _next_range(engine: Engine, account_id: str, start_s: int, batch_size: int) -> DayRange:
    rest = DayRange(account_id, start_s, END_S, 0)
    some = (
        select(entries.c.started_at_ms)
        .where(*_entries_of(rest))
        .order_by(entries.c.started_at_ms)
        .limit(batch_size)
        .subquery()
    )
    with reading(engine) as connection:
        count, last_ms = connection.execute(
            select(func.count(), func.max(some.c.started_at_ms))
        ).one()
    end_s = END_S if count < batch_size else last_ms // (DAY_S * 1000) * DAY_S + DAY_S
    return DayRange(account_id, start_s, end_s, count)
