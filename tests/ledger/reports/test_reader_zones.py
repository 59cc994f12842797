"""Days of time zones that begin between UTC's days and hours: each request is in one of them."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from app.ledger.posting import Ledger
from app.ledger.reports.buckets import buckets
from app.ledger.reports.pages import fill
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.retention import prune
from app.storage.sql.tables import DAY_S, HOUR_S, SLOT_S
from tests.ledger.ledgers import MIDNIGHT_S, at, empty_ledger

#: Kathmandu's midnight in UTC.
PHASE_S = 18 * HOUR_S + 15 * 60


@pytest.fixture
def sources(engine: Engine) -> Iterator[list[str]]:
    """The SQL that the engine runs."""
    seen: list[str] = []

    def note(*arguments: object) -> None:
        seen.append(str(arguments[2]))

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize(
    ("bucket_s", "phase_s", "reads"),
    [
        (DAY_S, PHASE_S, {"rollups_by_hour", "rollups"}),
        (DAY_S, HOUR_S, {"rollups_by_hour"}),
        (HOUR_S, 0, {"rollups_by_hour"}),
        (HOUR_S, SLOT_S, {"rollups"}),
        (7 * DAY_S, HOUR_S, {"daily_rollups", "rollups_by_hour"}),
        (7 * DAY_S, PHASE_S, {"daily_rollups", "rollups_by_hour", "rollups"}),
        (DAY_S, 60, {"entries"}),
    ],
)
def test_a_bucket_is_made_of_the_widest_rollups_that_fit_into_it(
    engine: Engine, sources: list[str], bucket_s: int, phase_s: int, reads: set[str]
) -> None:
    start_s = MIDNIGHT_S // bucket_s * bucket_s + phase_s
    UsageReader(engine).rows(
        UsageQuery(start_s, start_s + 3 * bucket_s, bucket_s=bucket_s, phase_s=phase_s)
    )
    tables = {"daily_rollups", "rollups_by_hour", "rollups", "entries"}
    words = " ".join(sources).split()
    assert {it for it in tables if ("FROM", it) in pairwise(words)} == reads


def test_days_of_a_zone_are_read_from_rollups_after_entries_are_pruned(engine: Engine) -> None:
    Ledger(engine).post(at(quarter * SLOT_S) for quarter in range(3 * 96))
    list(prune(engine, MIDNIGHT_S + 3 * DAY_S))
    start_s = MIDNIGHT_S + PHASE_S
    query = UsageQuery(start_s, start_s + 2 * DAY_S, bucket_s=DAY_S, phase_s=PHASE_S)
    rows = UsageReader(engine).rows(query)
    assert [(row.bucket_start_s, row.requests) for row in rows] == [
        (start_s, 96),
        (start_s + DAY_S, 96),
    ]


@settings(max_examples=60, deadline=None)
@given(
    seconds=st.lists(st.integers(0, 20 * DAY_S), max_size=25),
    bucket_s=st.sampled_from([SLOT_S, HOUR_S, 3 * HOUR_S, DAY_S, 7 * DAY_S, None]),
    phase=st.integers(0, 7 * 96) | st.sampled_from([0, 4, 8]),
    start_s=st.integers(0, 20 * DAY_S),
    length_s=st.integers(0, 20 * DAY_S),
    edge_s=st.sampled_from([1, SLOT_S, HOUR_S, DAY_S]),
)
def test_each_request_is_in_its_own_bucket_in_every_zone_and_range(
    seconds: list[int],
    bucket_s: int | None,
    phase: int,
    start_s: int,
    length_s: int,
    edge_s: int,
) -> None:
    start_s = MIDNIGHT_S + start_s // edge_s * edge_s
    end_s = start_s + length_s // edge_s * edge_s
    phase_s = 0 if bucket_s is None else phase * SLOT_S % bucket_s
    inside = [s for s in (MIDNIGHT_S + second for second in seconds) if start_s <= s < end_s]
    expected = Counter(
        None if bucket_s is None else (s - phase_s) // bucket_s * bucket_s + phase_s for s in inside
    )
    query = UsageQuery(start_s, end_s, bucket_s=bucket_s, phase_s=phase_s)
    with empty_ledger() as engine:
        Ledger(engine).post(at(second) for second in seconds)
        rows = UsageReader(engine).rows(query)
    assert {row.bucket_start_s: row.requests for row in rows} == dict(expected)


@pytest.mark.parametrize("phase_s", [0, HOUR_S, PHASE_S, 5 * SLOT_S])
def test_days_are_the_same_on_both_databases(engine: Engine, phase_s: int) -> None:
    seconds = [day * DAY_S + second for day in range(4) for second in (0, 64_799, 65_699, 65_700)]
    Ledger(engine).post(at(second) for second in seconds)
    query = UsageQuery(MIDNIGHT_S, MIDNIGHT_S + 4 * DAY_S, bucket_s=DAY_S, phase_s=phase_s)
    found = {it.bucket_start_s: it.requests for it in UsageReader(engine).rows(query)}
    times_s = [MIDNIGHT_S + second for second in seconds]
    assert found == Counter((s - phase_s) // DAY_S * DAY_S + phase_s for s in times_s)
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT sum(requests) FROM rollups_by_hour")) == 16


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Zurich", (2026, 10, 25), 25),
        ("America/Los_Angeles", (2026, 11, 1), 25),
        ("Europe/Zurich", (2026, 3, 29), 23),
    ],
)
def test_every_hour_of_a_week_in_which_clocks_change_is_in_its_day(
    engine: Engine, zone: str, day: tuple[int, int, int], hours: int
) -> None:
    changed = datetime(*day, tzinfo=ZoneInfo(zone))
    start_s, end_s = (int((changed + timedelta(days=days)).timestamp()) for days in (-3, 4))
    Ledger(engine).post(at(time_s - MIDNIGHT_S) for time_s in range(start_s, end_s, HOUR_S))
    page = list(buckets(start_s, end_s, DAY_S, ZoneInfo(zone)))
    filled = fill(UsageReader(engine), UsageQuery(0, 0), page, DAY_S)
    found = [sum(row.requests for row in filled[bucket.start_s]) for bucket in page]
    assert found == [24, 24, 24, hours, 24, 24, 24]


@pytest.mark.parametrize("phase_s", [PHASE_S, HOUR_S])
def test_however_many_days_are_asked_for_few_statements_are_put_together(
    engine: Engine, sources: list[str], phase_s: int
) -> None:
    start_s = MIDNIGHT_S + phase_s
    query = UsageQuery(start_s, start_s + 31 * DAY_S, bucket_s=DAY_S, phase_s=phase_s)
    UsageReader(engine).rows(query)
    assert " ".join(sources).count("UNION ALL") <= 5
