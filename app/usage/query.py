"""Reading the ledger: what was used, by whom and of what; summed by the database.

Knows no HTTP and no time zone but UTC.
"""

from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Engine, Row, Select, Subquery, case, func, select

from app.completion import USAGE_COUNTS, Usage
from app.database import reading
from app.tables import ROLLUP_MEASURES, SLOT_S, entries, rollups

__all__ = ["ENTRY_MEASURES", "SLOT_S", "GroupKey", "UsageQuery", "UsageReader", "UsageRow"]

GroupKey = Literal["account", "api_key", "vendor", "model", "user"]

#: What an entry adds to each of a rollup's measures.
ENTRY_MEASURES: tuple[ColumnElement[Any], ...] = (
    sa.literal_column("1", sa.BigInteger).label("requests"),
    case((entries.c.status == "failed", 1), else_=0).label("failed_requests"),
    case((entries.c.source == "estimated", 1), else_=0).label("estimated_requests"),
    *(entries.c[name] for name in USAGE_COUNTS),
    func.coalesce(entries.c.cost_nanousd, 0).label("cost_nanousd"),
    case((entries.c.cost_nanousd.is_(None), 0), else_=1).label("priced_requests"),
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

    `user` is None too for requests that named none. `failed_requests`, `estimated_requests` and
    `priced_requests` are parts of `requests`; `cost_nanousd` is that of the priced ones.
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

    @property
    def unpriced_requests(self) -> int:
        """How many requests used tokens whose price is not known."""
        return self.requests - self.priced_requests


@dataclass(frozen=True, slots=True)
class UsageReader:
    """The ledger's sums."""

    engine: Engine

    def rows(self, query: UsageQuery) -> list[UsageRow]:
        """Return the sums, by bucket and then by group in the order of `group_by`, as bytes sort.

        Groups and buckets without a request have no row.
        Raises: LedgerUnavailable.
        """
        if query.start_s >= query.end_s:
            return []
        with reading(self.engine) as connection:
            return [_row(row) for row in connection.execute(_statement(query))]


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


def _source(query: UsageQuery) -> Subquery:
    """Return the rows to sum: rollups for the whole slots of the range, entries for the rest."""
    inner_start_s = -(-query.start_s // SLOT_S) * SLOT_S
    inner_end_s = query.end_s // SLOT_S * SLOT_S
    if _needs_entries(query) or inner_start_s >= inner_end_s:
        return _entries(query, query.start_s, query.end_s).subquery()
    parts = [_rollups(query, inner_start_s, inner_end_s)]
    for start_s, end_s in ((query.start_s, inner_start_s), (inner_end_s, query.end_s)):
        if start_s < end_s:
            parts.append(_entries(query, start_s, end_s))
    return sa.union_all(*parts).subquery()


def _needs_entries(query: UsageQuery) -> bool:
    """Say whether rollups cannot tell: they know no user, and nothing within a slot."""
    by_user = query.users is not None or "user" in query.group_by
    cuts_s = (query.bucket_s or 0, query.phase_s)
    return by_user or any(cut_s % SLOT_S for cut_s in cuts_s)


def _rollups(query: UsageQuery, start_s: int, end_s: int) -> Select[Any]:
    table = rollups.c
    measures = (table[name] for name in ROLLUP_MEASURES)
    columns = (table[name] for name in query.columns)
    return select(table.slot_s.label("time_s"), *columns, *measures).where(
        table.slot_s >= start_s, table.slot_s < end_s, *conditions(query, rollups)
    )


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
