"""Buckets of time and the cursor between pages of them."""

import math
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ledger.reports.buckets import TIME_LIMIT_S, Bucket, BucketRun, Cursor, buckets, runs
from app.storage.sql.tables import DAY_S
from app.vocabulary.errors import InvalidRequest

TIMES_S = st.integers(0, TIME_LIMIT_S)


@given(start_s=TIMES_S, length_s=st.integers(1, 10**6), width_s=st.sampled_from([900, 3600, 86400]))
def test_buckets_fill_the_range_and_each_lies_in_one_whole_width(
    start_s: int, length_s: int, width_s: int
) -> None:
    found = list(buckets(start_s, start_s + length_s, width_s))
    assert [bucket.end_s for bucket in found[:-1]] == [bucket.start_s for bucket in found[1:]]
    assert (found[0].start_s, found[-1].end_s) == (start_s, start_s + length_s)
    for bucket in found:
        assert bucket.start_s < bucket.end_s
        assert bucket.start_s // width_s == (bucket.end_s - 1) // width_s


def test_buckets_of_a_huge_range_are_made_one_by_one() -> None:
    assert next(buckets(5, TIME_LIMIT_S, 3600)) == Bucket(5, 3600)
    assert list(buckets(5, 5, 3600)) == []


@given(start_s=st.integers(0, TIME_LIMIT_S - 1), length_s=st.integers(1, 10**9), query=st.binary())
def test_a_cursor_comes_back_as_it_was_for_its_query_alone(
    start_s: int, length_s: int, query: bytes
) -> None:
    cursor = Cursor(start_s, min(start_s + length_s, TIME_LIMIT_S))
    text = cursor.encode(query)
    assert Cursor.decode(text, query) == cursor
    with pytest.raises(InvalidRequest) as refusal:
        Cursor.decode(text, query + b"x")
    assert refusal.value.param == "page"


@pytest.mark.parametrize(
    "cursor", [Cursor(-1, 5), Cursor(5, 5), Cursor(6, 5), Cursor(0, TIME_LIMIT_S + 1)]
)
def test_a_forged_cursor_cannot_leave_the_range_of_times(cursor: Cursor) -> None:
    with pytest.raises(InvalidRequest):
        Cursor.decode(cursor.encode(b"q"), b"q")


@given(st.text())
def test_no_text_breaks_the_cursor(text: str) -> None:
    for candidate in (text, f"page_{text}"):
        with pytest.raises(InvalidRequest):
            Cursor.decode(candidate, b"q")


ZONES = [
    "Asia/Kathmandu",  # +05:45
    "Asia/Kolkata",
    "America/Los_Angeles",
    "America/St_Johns",  # -03:30, and an hour more in summer
    "Australia/Lord_Howe",  # half an hour more in summer
    "Pacific/Apia",  # skipped 2011-12-30
    "America/Havana",  # clocks change at midnight
    "Africa/Monrovia",  # seconds, until 1972
    "Etc/GMT+12",
]


@given(
    start_s=st.integers(0, 2_000_000_000),
    length_s=st.integers(1, 40 * DAY_S),
    width_s=st.sampled_from([3600, DAY_S]),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
)
def test_local_buckets_fill_the_range_and_each_lies_in_one_local_day_or_hour(
    start_s: int, length_s: int, width_s: int, zone: ZoneInfo
) -> None:
    found = list(buckets(start_s, start_s + length_s, width_s, zone))
    assert [bucket.end_s for bucket in found[:-1]] == [bucket.start_s for bucket in found[1:]]
    assert (found[0].start_s, found[-1].end_s) == (start_s, start_s + length_s)
    days = [_local(bucket.start_s, zone).date() for bucket in found]
    for bucket, day in zip(found, days, strict=True):
        assert bucket.start_s < bucket.end_s
        assert _local(bucket.end_s - 1, zone).date() == day
    if width_s == DAY_S:
        assert len(set(days)) == len(days)
    else:
        assert max(bucket.end_s - bucket.start_s for bucket in found) <= width_s


def _local(time_s: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(time_s, zone)


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("UTC", (2026, 3, 8), 24),
        ("America/Los_Angeles", (2026, 3, 8), 23),
        ("America/Los_Angeles", (2026, 11, 1), 25),
        ("Europe/Zurich", (2026, 10, 25), 25),
        ("Australia/Lord_Howe", (2026, 10, 4), 23.5),
        ("Australia/Lord_Howe", (2026, 4, 5), 24.5),
        ("Asia/Kathmandu", (2026, 3, 8), 24),
        ("America/Havana", (2026, 3, 8), 23),  # midnight is skipped
        ("America/Havana", (2026, 11, 1), 25),  # midnight comes twice
        ("Pacific/Apia", (2011, 12, 29), 24),
    ],
)
def test_a_local_day_has_as_many_hours_as_its_clocks_show(
    zone: str, day: tuple[int, int, int], hours: float
) -> None:
    noon_s = int(datetime(*day, 12, tzinfo=ZoneInfo(zone)).timestamp())
    around = buckets(noon_s - 2 * DAY_S, noon_s + 2 * DAY_S, DAY_S, ZoneInfo(zone))
    (found,) = [bucket for bucket in around if bucket.start_s <= noon_s < bucket.end_s]
    assert found.end_s - found.start_s == hours * 3600
    inside = list(buckets(found.start_s, found.end_s, 3600, ZoneInfo(zone)))
    assert len(inside) == math.ceil(hours)


@given(
    start_s=st.integers(0, 2_000_000_000),
    length_s=st.integers(1, 40 * DAY_S),
    width_s=st.sampled_from([3600, DAY_S]),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
)
def test_a_run_of_buckets_is_cut_by_one_division(
    start_s: int, length_s: int, width_s: int, zone: ZoneInfo
) -> None:
    page = list(buckets(start_s, start_s + length_s, width_s, zone))
    found = list(runs(page, width_s))
    assert [bucket for run in found for bucket in run.buckets] == page
    for run in found:
        if run.phase_s is None:
            assert len(run.buckets) == 1
            continue
        for bucket in run.buckets:
            cuts = {(t - run.phase_s) // width_s for t in (bucket.start_s, bucket.end_s - 1)}
            assert len(cuts) == 1
    assert len(found) <= 5 or zone.key == "Africa/Monrovia"


def test_utc_is_one_run() -> None:
    page = list(buckets(1_000, 50 * DAY_S + 7, DAY_S))
    assert list(runs(page, DAY_S)) == [BucketRun(page, 0)]
    assert list(runs([], DAY_S)) == []
