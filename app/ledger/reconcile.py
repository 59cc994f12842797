"""Holding the ledger's rollups against its entries, and mending them; knows nothing of Redis.

Entries are the facts and rollups their sums, written in one transaction; where they differ,
somebody else changed one of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, ColumnElement, Connection, Engine, Select, func, select

from app.ledger.bulk import add_up
from app.ledger.corrections import Change, correct
from app.ledger.reports.query import ENTRY_MEASURES
from app.ledger.retention import pruned_until_s
from app.storage.sql.database import reading, write
from app.storage.sql.tables import DAY_S, ROLLUP_KEY, ROLLUP_MEASURES, ROLLUP_TABLES, entries
from app.usage.event import NUMBER_LIMIT

#: Entries summed in one statement, at least; more where one day has more.
AT_ONCE = 50_000

#: After every slot there can be, in Unix seconds.
END_S = NUMBER_LIMIT // 1000 + DAY_S


@dataclass(frozen=True, slots=True)
class DayRange:
    """An account's days from `start_s` to before `end_s`, and how many entries are in them."""

    account_id: str
    start_s: int
    end_s: int
    entry_count: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What the rollup of this key lacks, measure by measure; negative where it has too much."""

    account_id: str
    slot_s: int
    api_key_id: str
    vendor: str
    model: str
    lacks: dict[str, int]
    #: What the rollup sums up: a quarter of an hour or a day.
    width_s: int


def count_entries(engine: Engine) -> int:
    """Count all entries.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        return connection.scalar(select(func.count()).select_from(entries)) or 0


def day_ranges(engine: Engine, at_once: int = AT_ONCE) -> Iterator[DayRange]:
    """Cut the ledger into day_ranges of about `at_once` entries that leave out no day.

    What has been pruned is left out: of it there is nothing to compare rollups with.
    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        first_s = pruned_until_s(connection)
    account_id = _next_account(engine, None)
    while account_id is not None:
        start_s = first_s
        while start_s < END_S:
            yield (stretch := _stretch(engine, account_id, start_s, at_once))
            start_s = stretch.end_s
        account_id = _next_account(engine, account_id)


def differences(engine: Engine, stretch: DayRange) -> list[Difference]:
    """Return where rollups are not the sums of their entries: days, then quarters of an hour, each
    in the order of their keys.

    A statement for each, so posts that go on meanwhile are seen whole or not at all.
    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        return [
            _difference(row, width_s)
            for width_s in ROLLUP_TABLES
            for row in _lacking(connection, stretch, width_s)
        ]


def rebuild(engine: Engine, stretch: DayRange) -> list[Difference]:
    """Add to a stretch's rollups what they lack, in one transaction; return what that was.

    Posts go on meanwhile: they are seen whole or not at all, so what a rollup lacks is the same
    before and after them, and it is added to whatever they have made of it.
    Raises: LedgerUnavailable, nothing changed.
    """
    return write(engine, lambda connection: _rebuild(connection, stretch))


def _rebuild(connection: Connection, stretch: DayRange) -> list[Difference]:
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
        # Against another rebuild, which would add the same again; it keeps no post waiting.
        connection.execute(sa.text("LOCK TABLE rollups IN SHARE UPDATE EXCLUSIVE MODE"))
    mended = []
    for width_s, table in ROLLUP_TABLES.items():
        lacking = _lacking(connection, stretch, width_s)
        add_up(connection, table, lacking)
        if width_s == DAY_S:
            correct(connection, _taken_out(lacking))
        mended += [_difference(row, width_s) for row in lacking]
    return mended


def _taken_out(lacking: Iterable[dict[str, Any]]) -> Iterator[Change]:
    """Yield what days had too much of: budgets have been held against it."""
    for row in lacking:
        if row["cost_nanousd"] < 0:
            key = (row["account_id"], row["api_key_id"], row["slot_s"])
            yield Change(*key, row["cost_nanousd"])


def _lacking(connection: Connection, stretch: DayRange, width_s: int) -> list[dict[str, Any]]:
    """Return what is to be added to each rollup that is wrong, in the order of their keys."""
    names = (*ROLLUP_KEY, *ROLLUP_MEASURES)
    found = connection.execute(_statement(stretch, width_s)).mappings()
    return [{name: row[name] for name in names} for row in found]


def _statement(stretch: DayRange, width_s: int) -> Select[Any]:
    table = ROLLUP_TABLES[width_s]
    width, width_ms = (sa.literal_column(str(n), BigInteger) for n in (width_s, width_s * 1000))
    slot_s = (entries.c.started_at_ms // width_ms * width).label("slot_s")
    of_entry = [slot_s if name == "slot_s" else entries.c[name] for name in ROLLUP_KEY]
    of_rollup = [table.c[name] for name in ROLLUP_KEY]
    taken = [(-table.c[name]).label(name) for name in ROLLUP_MEASURES]
    source = sa.union_all(
        select(*of_entry, *ENTRY_MEASURES).where(*_entries_of(stretch)),
        select(*of_rollup, *taken).where(*_rollups_of(stretch, table)),
    ).subquery()
    key = [source.c[name] for name in ROLLUP_KEY]
    sums = [func.sum(source.c[name]) for name in ROLLUP_MEASURES]
    return (
        # PostgreSQL's sum of integers is a number of any length.
        select(*key, *(sa.cast(s, BigInteger).label(n) for n, s in _named(sums)))
        .group_by(*key)
        .having(sa.or_(*(s != 0 for s in sums)))
        .order_by(*key)
    )


def _named(sums: list[Any]) -> Iterator[tuple[str, Any]]:
    return zip(ROLLUP_MEASURES, sums, strict=True)


def _entries_of(stretch: DayRange) -> tuple[ColumnElement[bool], ...]:
    return (
        entries.c.account_id == stretch.account_id,
        entries.c.started_at_ms >= stretch.start_s * 1000,
        entries.c.started_at_ms < stretch.end_s * 1000,
    )


def _rollups_of(stretch: DayRange, table: sa.Table) -> tuple[ColumnElement[bool], ...]:
    return (
        table.c.account_id == stretch.account_id,
        table.c.slot_s >= stretch.start_s,
        table.c.slot_s < stretch.end_s,
    )


def _difference(row: dict[str, Any], width_s: int) -> Difference:
    lacks = {name: row[name] for name in ROLLUP_MEASURES if row[name]}
    return Difference(**{name: row[name] for name in ROLLUP_KEY}, lacks=lacks, width_s=width_s)


def _next_account(engine: Engine, last: str | None) -> str | None:
    """Return the account after `last`, as bytes sort, that has entries or rollups."""
    found = []
    with reading(engine) as connection:
        for table in (entries, *ROLLUP_TABLES.values()):
            column = table.c.account_id
            query = select(func.min(column))
            found.append(connection.scalar(query if last is None else query.where(column > last)))
    return min((account_id for account_id in found if account_id is not None), default=None)


def _stretch(engine: Engine, account_id: str, start_s: int, at_once: int) -> DayRange:
    rest = DayRange(account_id, start_s, END_S, 0)
    some = (
        select(entries.c.started_at_ms)
        .where(*_entries_of(rest))
        .order_by(entries.c.started_at_ms)
        .limit(at_once)
        .subquery()
    )
    with reading(engine) as connection:
        count, last_ms = connection.execute(
            select(func.count(), func.max(some.c.started_at_ms))
        ).one()
    end_s = END_S if count < at_once else last_ms // (DAY_S * 1000) * DAY_S + DAY_S
    return DayRange(account_id, start_s, end_s, count)
