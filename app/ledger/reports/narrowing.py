"""Finds where matching entries are, so that a list of the newest does not read all in between.

Entries have no index of keys, models or statuses, but rollups count their requests by slots.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, select

from app.ledger.reports.any_account import of_any_account
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import conditions
from app.ledger.reports.slices import TableSlice
from app.ledger.slots import HOUR_S, SLOT_S, floor_to
from app.storage.sql.tables import ENDPOINT_TABLES, ROLLUP_TABLES, entries
from app.vocabulary.request import COMPLETIONS

#: Hours that are searched together, at most: a condition must not become too long.
HOURS_LIMIT = 50

#: Slots of accounts that a condition names, at most; of more, it names the slots alone. SQLite
#: nests conditions no deeper than 1,000, PostgreSQL takes no more than 65,535 parameters, and a
#: list of several accounts repeats the condition for each of up to fifty.
PLACES_LIMIT = 150

#: The statuses that every version counts as failed.
_COUNTED_AS_FAILED = frozenset({"failed"})


def places(
    connection: Connection, query: UsageQuery, end_s: int, limit: int
) -> Iterator[ColumnElement[bool]]:
    """Yield conditions, of which the first ones include the newest matching entries before `end_s`.

    Their times descend and do not overlap; together they include every matching entry. The first is
    likely to include `limit` matching entries.
    """
    if not _helps(query):
        yield sa.true()
        return
    counted = replace(query, users=None, statuses=None)
    of_failed = query.statuses is not None
    hours = _hours(connection, counted, end_s, of_failed=of_failed)
    while hours:
        taken, number = 0, 0
        while taken < min(len(hours), HOURS_LIMIT) and number < limit:
            number += hours[taken][1]
            taken += 1
        yield _slots_in(connection, counted, [it for it, _ in hours[:taken]], of_failed=of_failed)
        hours = hours[taken:]


def _helps(query: UsageQuery) -> bool:
    """Return whether rollups know which slots match, and a filter leaves out many of them."""
    if query.statuses is not None:
        return query.statuses <= _COUNTED_AS_FAILED
    filters = (query.api_key_ids, query.vendors, query.models)
    return any(it is not None for it in filters) or _is_of_others(query)


def _is_of_others(query: UsageQuery) -> bool:
    """Return whether the query leaves out completions, so that rollups by endpoint suffice."""
    return query.endpoints is not None and COMPLETIONS not in query.endpoints


def _table(query: UsageQuery, width_s: int) -> sa.Table:
    return (ENDPOINT_TABLES if _is_of_others(query) else ROLLUP_TABLES)[width_s]


def _hours(
    connection: Connection, query: UsageQuery, end_s: int, *, of_failed: bool
) -> list[tuple[int, int]]:
    """Return the hours with matching requests, newest first, and how many each has."""
    table = _table(query, HOUR_S)
    number = _number(table, of_failed=of_failed)
    part = TableSlice(table, floor_to(query.start_s, HOUR_S), min(end_s, query.end_s), HOUR_S)
    statement = (
        select(table.c.slot_s, number)
        .where(
            table.c.slot_s >= part.start_s,
            table.c.slot_s < part.end_s,
            *conditions(query, table),
            *_of_any(query, part),
        )
        .group_by(table.c.slot_s)
        .having(number > 0)
        .order_by(table.c.slot_s.desc())
    )
    return [(slot_s, int(requests)) for slot_s, requests in connection.execute(statement)]


def _slots_in(
    connection: Connection, query: UsageQuery, hours_s: Sequence[int], *, of_failed: bool
) -> ColumnElement[bool]:
    """Return the condition of entries in those slots of some hours that have matching requests."""
    table = _table(query, SLOT_S)
    number = _number(table, of_failed=of_failed)
    starts_s = [slot_s for hour in hours_s for slot_s in range(hour, hour + HOUR_S, SLOT_S)]
    part = TableSlice(table, 0, 0, SLOT_S, tuple(starts_s))
    statement = (
        select(table.c.account_id, table.c.slot_s)
        .where(table.c.slot_s.in_(starts_s), *conditions(query, table), *_of_any(query, part))
        .group_by(table.c.account_id, table.c.slot_s)
        .having(number > 0)
    )
    found = connection.execute(statement).all()
    if len(found) > PLACES_LIMIT:  # matching entries are then many of a slot's
        return sa.or_(*(_is_in(slot_s) for slot_s in sorted({it.slot_s for it in found})))
    return sa.or_(
        sa.false(), *(_is_in(slot_s, entries.c.account_id == name) for name, slot_s in found)
    )


def _of_any(query: UsageQuery, part: TableSlice) -> Sequence[ColumnElement[bool]]:
    return of_any_account(part) if query.account_ids is None else ()


def _number(table: sa.Table, *, of_failed: bool) -> ColumnElement[int]:
    return sa.func.sum(table.c.failed_requests if of_failed else table.c.requests)


def _is_in(slot_s: int, *more: ColumnElement[bool]) -> ColumnElement[bool]:
    return sa.and_(
        *more,
        entries.c.started_at_ms >= slot_s * 1000,
        entries.c.started_at_ms < (slot_s + SLOT_S) * 1000,
    )
