"""Chooses the tables that answer a query: the widest rollups that fit, and entries for the rest."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from app.ledger.reports.query import UsageQuery
from app.ledger.slots import SLOT_S
from app.storage.sql.tables import ROLLUP_TABLES, entries


@dataclass(frozen=True, slots=True)
class TableSlice:
    """A table and the range to sum, in Unix seconds; if `slots_s` is set, only those slots.

    Slots of width `width_s` that straddle a bucket boundary are left out.
    """

    table: sa.Table
    start_s: int
    end_s: int
    width_s: int = 1
    slots_s: tuple[int, ...] = ()


def table_slices(query: UsageQuery) -> list[TableSlice]:
    """Return the slices that together contain each request of the query's range exactly once."""
    if query.needs_entries:
        return [TableSlice(entries, query.start_s, query.end_s)]
    tables = [(width_s, it) for width_s, it in ROLLUP_TABLES.items() if _fits(query, width_s)]
    return _merge(_divide(query, query.start_s, query.end_s, tables))


def _fits(query: UsageQuery, width_s: int) -> bool:
    """Return whether slots of a width are inside buckets, except at the buckets' boundaries."""
    bucket_s, phase_s = query.bucket_s or 0, query.phase_s
    if bucket_s % width_s or phase_s % SLOT_S:
        return False
    return phase_s % width_s == 0 or bucket_s > width_s


def _divide(
    query: UsageQuery, start_s: int, end_s: int, tables: Sequence[tuple[int, sa.Table]]
) -> list[TableSlice]:
    """Take the whole slots of a range from the first of `tables`, and the rest from narrower ones.

    The rest is the range's edges and the slots that straddle a bucket boundary. What no slot
    contains is taken from entries.
    """
    if start_s >= end_s:
        return []
    if not tables:
        return [TableSlice(entries, start_s, end_s)]
    (width_s, table), *finer = tables
    inner_start_s, inner_end_s = -(-start_s // width_s) * width_s, end_s // width_s * width_s
    if inner_start_s >= inner_end_s:
        return _divide(query, start_s, end_s, finer)
    slices = [TableSlice(table, inner_start_s, inner_end_s, width_s)]
    for slot_s in _divided_slots(query, inner_start_s, inner_end_s, width_s):
        slices += _divide(query, slot_s, slot_s + width_s, finer)
    slices += _divide(query, start_s, inner_start_s, finer)
    return slices + _divide(query, inner_end_s, end_s, finer)


def _divided_slots(query: UsageQuery, start_s: int, end_s: int, width_s: int) -> Iterator[int]:
    """Yield the slots of a range that straddle a bucket boundary."""
    if query.bucket_s is None or query.phase_s % width_s == 0:
        return
    first_s = start_s + (query.phase_s - start_s) % query.bucket_s
    for cut_s in range(first_s, end_s, query.bucket_s):
        yield cut_s // width_s * width_s


def _merge(slices: Sequence[TableSlice]) -> list[TableSlice]:
    """Merge a rollup table's slices, if it has more than two, into one that lists its slots."""
    by_table: defaultdict[sa.Table, list[TableSlice]] = defaultdict(list)
    for it in slices:
        by_table[it.table].append(it)
    merged: list[TableSlice] = []
    for table, own in by_table.items():
        if table is entries or len(own) <= 2:
            merged += own
            continue
        slots_s = [s for it in own for s in range(it.start_s, it.end_s, it.width_s)]
        merged.append(TableSlice(table, slots_s[0], 0, own[0].width_s, tuple(slots_s)))
    return merged
