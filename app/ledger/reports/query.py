"""Reading the ledger: what was used, by whom and of what; summed by the database.

Knows no HTTP and no time zone but UTC.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Engine, Row, Select, Subquery, case, func, select

from app.ledger.retention import require_entries
from app.storage.sql.database import reading
from app.storage.sql.tables import ROLLUP_MEASURES, ROLLUP_TABLES, SLOT_S, entries
from app.usage.event import CERTAIN_SOURCES
from app.vocabulary.completion import USAGE_COUNTS, Usage

__all__ = ["ENTRY_MEASURES", "SLOT_S", "GroupKey", "UsageQuery", "UsageReader", "UsageRow"]

GroupKey = Literal["account", "api_key", "vendor", "model", "user"]

#: Whether an entry used nothing, and so has no cost to be known.
IS_EMPTY: ColumnElement[bool] = sa.and_(
    *(entries.c[name] == 0 for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
)

#: What an entry adds to each of a rollup's measures.
ENTRY_MEASURES: tuple[ColumnElement[Any], ...] = (
    sa.literal_column("1", sa.BigInteger).label("requests"),
    case((entries.c.status == "failed", 1), else_=0).label("failed_requests"),
    case((entries.c.source.in_(sorted(CERTAIN_SOURCES)), 0), else_=1).label("estimated_requests"),
    *(entries.c[name] for name in USAGE_COUNTS),
    func.coalesce(entries.c.cost_nanousd, 0).label("cost_nanousd"),
    case((entries.c.cost_nanousd.is_(None), 0), else_=1).label("priced_requests"),
    case((entries.c.cost_nanousd.is_(None) & IS_EMPTY, 1), else_=0).label("empty_requests"),
)

#: The columns that tell groups apart: one model's name can stand at several vendors.
GROUP_COLUMNS: dict[GroupKey, tuple[str, ...]] = {
    "account": ("account_id",),
    "api_key": ("api_key_id",),
    "vendor": ("vendor",),
    "model": ("vendor", "model"),
    "user": ("user",),
}


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """What to sum: requests that started at or after `start_s` and before `end_s`.

    Units: Unix seconds, UTC. `bucket_s` cuts the sums at its whole multiples plus `phase_s`, which
    is less than it; None is no cut.
    Filters: None takes all, an empty set takes nothing; `models` are written `vendor/name`.
    """

    start_s: int
    end_s: int
    bucket_s: int | None = None
    phase_s: int = 0
    account_ids: frozenset[str] | None = None
    api_key_ids: frozenset[str] | None = None
    vendors: frozenset[str] | None = None
    models: frozenset[str] | None = None
    users: frozenset[str] | None = None
    group_by: tuple[GroupKey, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tell groups apart, each once."""
        return tuple(dict.fromkeys(c for key in self.group_by for c in GROUP_COLUMNS[key]))


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """One group's sums in one bucket; what the query does not group by is None.

    `user` is None too for requests that named none. `failed_requests`, `estimated_requests`,
    `priced_requests` and `empty_requests`, which used nothing and so have no price, are parts of
    `requests`; `cost_nanousd` is that of the priced ones.
    """

    bucket_start_s: int | None = None
    account_id: str | None = None
    api_key_id: str | None = None
    vendor: str | None = None
    model: str | None = None
    user: str | None = None
    requests: int
    failed_requests: int
    estimated_requests: int
    usage: Usage
    cost_nanousd: int = 0
    priced_requests: int = 0
    empty_requests: int = 0

    @property
    def unpriced_requests(self) -> int:
        """How many requests used tokens whose price is not known."""
        return self.requests - self.priced_requests - self.empty_requests

    @property
    def known_cost_nanousd(self) -> int | None:
        """What the requests of known price cost; None where others are all that may have cost."""
        return None if self.unpriced_requests and not self.cost_nanousd else self.cost_nanousd


@dataclass(frozen=True, slots=True)
class UsageReader:
    """The ledger's sums."""

    engine: Engine

    def rows(self, query: UsageQuery) -> list[UsageRow]:
        """Return the sums, by bucket and then by group in the order of `group_by`, as bytes sort.

        Groups and buckets without a request have no row.
        Raises: UsagePruned where only rollups are left and they cannot tell; LedgerUnavailable.
        """
        if query.start_s >= query.end_s:
            return []
        with reading(self.engine) as connection:
            rows = [_row(row) for row in connection.execute(_statement(query))]
            for part in _parts(query):
                if part.table is entries:
                    require_entries(connection, part.start_s)
        return rows


def _statement(query: UsageQuery) -> Select[Any]:
    source = _source(query)
    groups: list[ColumnElement[Any]] = [source.c[name] for name in query.columns]
    if query.bucket_s is not None:
        groups.insert(0, _bucket(source.c.time_s, query.bucket_s, query.phase_s))
    sums = [func.sum(source.c[name]).label(name) for name in ROLLUP_MEASURES]
    # Without groups, SQL would return one row of nulls for no requests at all; and a rollup may be
    # all zeros, when its one entry has moved to another model.
    statement = select(*groups, *sums).group_by(*groups).having(func.sum(source.c.requests) > 0)
    return statement.order_by(*(column.nulls_first() for column in groups))


def _bucket(time_s: ColumnElement[int], bucket_s: int, phase_s: int) -> ColumnElement[int]:
    # Written into the SQL: PostgreSQL takes two parameters for two different expressions.
    width = sa.bindparam("bucket_s", bucket_s, sa.BigInteger, literal_execute=True)
    phase = sa.bindparam("phase_s", phase_s, sa.BigInteger, literal_execute=True)
    return ((time_s - phase) // width * width + phase).label("bucket_start_s")


@dataclass(frozen=True, slots=True)
class TableSlice:
    """A table and what to sum of it: a span in Unix seconds, or where `slots_s` are, those slots.

    Of slots `width_s` wide, those in which a bucket ends and another begins are left out.
    """

    table: sa.Table
    start_s: int
    end_s: int
    width_s: int = 1
    slots_s: tuple[int, ...] = ()


def _source(query: UsageQuery) -> Subquery:
    """Return the rows to sum: rollups as wide as can tell, entries for the rest."""
    selects = [_select(query, part) for part in _parts(query)]
    return (sa.union_all(*selects) if len(selects) > 1 else selects[0]).subquery()


def _parts(query: UsageQuery) -> list[TableSlice]:
    if query.users is not None or "user" in query.group_by:  # of users rollups know nothing
        return [TableSlice(entries, query.start_s, query.end_s)]
    tables = [(width_s, it) for width_s, it in ROLLUP_TABLES.items() if _can_tell(query, width_s)]
    return _together(_divide(query, query.start_s, query.end_s, tables))


def _can_tell(query: UsageQuery, width_s: int) -> bool:
    """Say whether slots of a width are within buckets, all or at least between their edges."""
    bucket_s, phase_s = query.bucket_s or 0, query.phase_s
    if bucket_s % width_s or phase_s % SLOT_S:
        return False
    return phase_s % width_s == 0 or bucket_s > width_s


def _divide(
    query: UsageQuery, start_s: int, end_s: int, tables: Sequence[tuple[int, sa.Table]]
) -> list[TableSlice]:
    """Take the whole slots of a span from the first of `tables`, what is at its edges and where
    buckets meet from finer ones, and what no slot holds from entries.
    """
    if start_s >= end_s:
        return []
    if not tables:
        return [TableSlice(entries, start_s, end_s)]
    (width_s, table), *finer = tables
    inner_start_s, inner_end_s = -(-start_s // width_s) * width_s, end_s // width_s * width_s
    if inner_start_s >= inner_end_s:
        return _divide(query, start_s, end_s, finer)
    parts = [TableSlice(table, inner_start_s, inner_end_s, width_s)]
    for slot_s in _divided_slots(query, inner_start_s, inner_end_s, width_s):
        parts += _divide(query, slot_s, slot_s + width_s, finer)
    parts += _divide(query, start_s, inner_start_s, finer)
    return parts + _divide(query, inner_end_s, end_s, finer)


def _divided_slots(query: UsageQuery, start_s: int, end_s: int, width_s: int) -> Iterator[int]:
    """Yield the slots of a span in which a bucket ends and another begins."""
    if query.bucket_s is None or query.phase_s % width_s == 0:
        return
    first_s = start_s + (query.phase_s - start_s) % query.bucket_s
    for cut_s in range(first_s, end_s, query.bucket_s):
        yield cut_s // width_s * width_s


def _together(parts: Sequence[TableSlice]) -> list[TableSlice]:
    """Make one part of those that a table has many of: of the slots that they consist of."""
    by_table: defaultdict[sa.Table, list[TableSlice]] = defaultdict(list)
    for part in parts:
        by_table[part.table].append(part)
    together: list[TableSlice] = []
    for table, own in by_table.items():
        if table is entries or len(own) <= 2:
            together += own
            continue
        slots_s = [s for it in own for s in range(it.start_s, it.end_s, it.width_s)]
        together.append(TableSlice(table, slots_s[0], 0, own[0].width_s, tuple(slots_s)))
    return together


def _select(query: UsageQuery, part: TableSlice) -> Select[Any]:
    table = part.table
    if table is entries:
        return _entries(query, part.start_s, part.end_s)
    measures = (table.c[name] for name in ROLLUP_MEASURES)
    columns = (table.c[name] for name in query.columns)
    return select(table.c.slot_s.label("time_s"), *columns, *measures).where(
        *_slots(query, part), *conditions(query, table)
    )


def _slots(query: UsageQuery, part: TableSlice) -> list[ColumnElement[bool]]:
    slot_s = part.table.c.slot_s
    wanted = [slot_s >= part.start_s, slot_s < part.end_s]
    if part.slots_s:
        wanted = [slot_s.in_(part.slots_s)]
    if query.bucket_s is not None and query.phase_s % part.width_s:
        # Counted from a time before every slot: databases differ in what is left of less than 0.
        first_s = query.phase_s - query.bucket_s
        wanted.append((slot_s - first_s) % query.bucket_s <= query.bucket_s - part.width_s)
    return wanted


def _entries(query: UsageQuery, start_s: int, end_s: int) -> Select[Any]:
    table = entries.c
    columns = (table[name] for name in query.columns)
    time_s = (table.started_at_ms // sa.literal_column("1000", sa.BigInteger)).label("time_s")
    return select(time_s, *columns, *ENTRY_MEASURES).where(
        table.started_at_ms >= start_s * 1000,
        table.started_at_ms < end_s * 1000,
        *conditions(query, entries),
    )


def conditions(query: UsageQuery, table: sa.Table) -> list[ColumnElement[bool]]:
    """Return what a query's filters ask of the rows of `entries` or `rollups`."""
    filters: list[ColumnElement[bool]] = []
    for name, wanted in (
        ("account_id", query.account_ids),
        ("api_key_id", query.api_key_ids),
        ("vendor", query.vendors),
        ("user", query.users),
    ):
        if wanted is not None:
            filters.append(table.c[name].in_(sorted(wanted)))
    if query.models is not None:
        pairs = [(vendor, name) for vendor, _, name in map(_split, sorted(query.models))]
        filters.append(sa.tuple_(table.c.vendor, table.c.model).in_(pairs))
    return filters


def _split(model: str) -> tuple[str, str, str]:
    return model.partition("/")


def _row(row: Row[Any]) -> UsageRow:
    values: dict[str, Any] = dict(row._mapping)
    # PostgreSQL's sum of integers is a Decimal.
    values |= {name: int(values[name]) for name in ROLLUP_MEASURES}
    usage = Usage(**{name: values.pop(name) for name in USAGE_COUNTS})
    return UsageRow(**values, usage=usage)
