"""Which tables answer a query."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.slices import TableSlice, table_slices
from app.ledger.slots import DAY_S, HOUR_S, SLOT_S
from tests.ledger.ledgers import DAY


@pytest.fixture
def statements(engine: Engine) -> Iterator[list[str]]:
    """The SQL that the engine runs."""
    seen: list[str] = []

    def note(*arguments: object) -> None:
        seen.append(str(arguments[2]))

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize(
    ("query", "reads"),
    [
        (DAY, {"daily_rollups"}),
        (replace(DAY, bucket_s=DAY_S), {"daily_rollups"}),
        (replace(DAY, bucket_s=DAY_S, phase_s=900), {"rollups"}),
        (replace(DAY, bucket_s=3600, phase_s=60), {"entries"}),
        (replace(DAY, start_s=DAY.start_s - 900), {"daily_rollups", "rollups"}),
        (replace(DAY, bucket_s=3600, group_by=("account", "model")), {"rollups"}),
        (replace(DAY, end_s=DAY.end_s - 1), {"rollups", "entries"}),
        (replace(DAY, end_s=DAY.end_s + 1), {"daily_rollups", "entries"}),
        (replace(DAY, end_s=DAY.start_s + 60), {"entries"}),
        (replace(DAY, bucket_s=60), {"entries"}),
        (replace(DAY, group_by=("user",)), {"entries"}),
        (replace(DAY, users=frozenset({"u"})), {"entries"}),
    ],
)
def test_entries_are_read_only_if_rollups_cannot_answer(
    engine: Engine, statements: list[str], query: UsageQuery, reads: set[str]
) -> None:
    UsageReader(engine).rows(query)
    sql = " ".join(statements)
    assert {
        table for table in ("daily_rollups", "rollups", "entries") if f"FROM {table}" in sql
    } == reads


@given(
    start_s=st.integers(0, 10 * DAY_S),
    length_s=st.integers(1, 10 * DAY_S),
    bucket_s=st.sampled_from([None, SLOT_S, HOUR_S, DAY_S]),
    phase_s=st.integers(0, 95).map(lambda slot: slot * SLOT_S),
)
def test_the_slices_contain_each_second_of_the_range_exactly_once(
    start_s: int, length_s: int, bucket_s: int | None, phase_s: int
) -> None:
    phase_s = phase_s % bucket_s if bucket_s else 0
    query = UsageQuery(start_s, start_s + length_s, bucket_s=bucket_s, phase_s=phase_s)
    spans = sorted(span for it in table_slices(query) for span in covered(query, it))
    assert spans[0][0] == start_s
    assert spans[-1][1] == start_s + length_s
    assert all(before[1] == after[0] for before, after in pairwise(spans))


def covered(query: UsageQuery, it: TableSlice) -> Iterator[tuple[int, int]]:
    """Yield the slots that a slice sums: those that do not straddle a bucket boundary."""
    if it.width_s == 1:
        yield it.start_s, it.end_s
        return
    for slot_s in it.slots_s or range(it.start_s, it.end_s, it.width_s):
        if query.bucket_s is None or (slot_s - query.phase_s) % query.bucket_s + it.width_s <= (
            query.bucket_s
        ):
            yield slot_s, slot_s + it.width_s


def test_a_table_has_at_most_two_slices_however_many_buckets_it_serves() -> None:
    query = UsageQuery(5 * HOUR_S, 90 * DAY_S, bucket_s=DAY_S, phase_s=18 * HOUR_S + 2700)
    found = table_slices(query)
    assert max(Counter(it.table.name for it in found).values()) <= 2
