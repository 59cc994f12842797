"""Reads usage from the ledger; the database computes the sums.

Does not depend on HTTP or on time zones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Engine, Row, Select, Subquery, func, select

from app.ledger.measures import ENTRY_MEASURES
from app.ledger.reports.any_account import of_any_account
from app.ledger.reports.query import UsageQuery, UsageRow
from app.ledger.reports.slices import TableSlice, table_slices
from app.ledger.retention import require_entries
from app.storage.sql.tables import ENDPOINT_TABLES, ROLLUP_MEASURES, entries
from app.storage.sql.transactions import reading
from app.vocabulary.completion import USAGE_COUNTS, Usage
from app.vocabulary.request import COMPLETIONS


@dataclass(frozen=True, slots=True)
class UsageReader:
    """Reads the totals of one ledger."""

    engine: Engine

    def rows(self, query: UsageQuery) -> list[UsageRow]:
        """Return a row for each bucket and group that has requests.

        Order: by bucket, then by the columns of `group_by`, in byte order.
        Raises: UsagePruned when the query needs entries that were pruned; LedgerUnavailable.
        """
        if query.start_s >= query.end_s:
            return []
        slices = table_slices(query)
        with reading(self.engine) as connection:
            rows = [_row(row) for row in connection.execute(_statement(query, slices))]
            for it in slices:
                if it.table is entries:
                    require_entries(connection, it.start_s)
        return rows


def _statement(query: UsageQuery, slices: list[TableSlice]) -> Select[Any]:
    source = _source(query, slices)
    groups: list[ColumnElement[Any]] = [source.c[name] for name in query.columns]
    if query.bucket_s is not None:
        groups.insert(0, _bucket(source.c.time_s, query.bucket_s, query.phase_s))
    sums = [func.sum(source.c[name]).label(name) for name in ROLLUP_MEASURES]
    # Without groups, SQL returns a row of nulls if there are no requests. A rollup may also be all
    # zeros, after its only entry was replaced by one of another model.
    statement = select(*groups, *sums).group_by(*groups).having(func.sum(source.c.requests) > 0)
    return statement.order_by(*(column.nulls_first() for column in groups))


def _bucket(time_s: ColumnElement[int], bucket_s: int, phase_s: int) -> ColumnElement[int]:
    # Literals, because PostgreSQL treats expressions with different parameters as different.
    width = sa.bindparam("bucket_s", bucket_s, sa.BigInteger, literal_execute=True)
    phase = sa.bindparam("phase_s", phase_s, sa.BigInteger, literal_execute=True)
    return ((time_s - phase) // width * width + phase).label("bucket_start_s")


def _source(query: UsageQuery, slices: list[TableSlice]) -> Subquery:
    selects = [select for it in slices for select in _selects(query, it)]
    return (sa.union_all(*selects) if len(selects) > 1 else selects[0]).subquery()


def _selects(query: UsageQuery, part: TableSlice) -> Iterator[Select[Any]]:
    if part.table is entries:
        yield _entries(query, part.start_s, part.end_s)
    elif not query.is_by_endpoint:
        yield _select(query, part)
    else:  # completions are what is left of all rollups without those of the other endpoints
        by_endpoint = replace(part, table=ENDPOINT_TABLES[part.width_s])
        yield _select(query, by_endpoint)
        if query.endpoints is None or COMPLETIONS in query.endpoints:
            yield _select(query, part)
            yield _select(replace(query, endpoints=None), by_endpoint, sign=-1)


def _select(query: UsageQuery, part: TableSlice, sign: Literal[1, -1] = 1) -> Select[Any]:
    """Select rollups of a table; those of all endpoints, and negative ones, are completions."""
    table = part.table
    is_named = "endpoint" in table.c and sign == 1
    endpoint = table.c.endpoint if is_named else sa.literal(COMPLETIONS, sa.Text).label("endpoint")
    columns = (endpoint if name == "endpoint" else table.c[name] for name in query.columns)
    measures = ((table.c[name] * sign).label(name) for name in ROLLUP_MEASURES)
    of_any = of_any_account(part) if query.account_ids is None else ()
    return select(table.c.slot_s.label("time_s"), *columns, *measures).where(
        *_slots(query, part), *conditions(query, table), *of_any
    )


def _slots(query: UsageQuery, part: TableSlice) -> list[ColumnElement[bool]]:
    slot_s = part.table.c.slot_s
    wanted = [slot_s >= part.start_s, slot_s < part.end_s]
    if part.slots_s:
        wanted = [slot_s.in_(part.slots_s)]
    if query.bucket_s is not None and query.phase_s % part.width_s:
        # Counted from a time before all slots: databases disagree about % of negative numbers.
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
    """Return a query's filters as conditions on `entries` or on a table of rollups.

    Rollups of all endpoints are not filtered by them.
    """
    filters: list[ColumnElement[bool]] = []
    for name, wanted in (
        ("account_id", query.account_ids),
        ("api_key_id", query.api_key_ids),
        ("vendor", query.vendors),
        ("user", query.users),
        ("status", query.statuses),
    ):
        if wanted is not None:
            filters.append(table.c[name].in_(sorted(wanted)))
    if query.endpoints is not None and "endpoint" in table.c:
        filters.append(table.c.endpoint.in_(sorted(query.endpoints)))
    if query.models is not None:
        pairs = [(vendor, name) for vendor, _, name in map(_split, sorted(query.models))]
        filters.append(sa.tuple_(table.c.vendor, table.c.model).in_(pairs))
    return filters


def _split(model: str) -> tuple[str, str, str]:
    return model.partition("/")


def _row(row: Row[Any]) -> UsageRow:
    values: dict[str, Any] = dict(row._mapping)
    # On PostgreSQL, the sum of bigint columns is a Decimal.
    values |= {name: int(values[name]) for name in ROLLUP_MEASURES}
    usage = Usage(**{name: values.pop(name) for name in USAGE_COUNTS})
    return UsageRow(**values, usage=usage)
