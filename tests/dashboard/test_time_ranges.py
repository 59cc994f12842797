"""Ranges of time: presets, own ranges, buckets, and the range before."""

from datetime import UTC, datetime

import pytest

from app.dashboard.time_ranges import (
    PRESETS,
    TimeRange,
    find_zone,
    own_range,
    preset_range,
    zone_names,
)
from app.vocabulary.errors import InvalidRequest

#: 2026-09-15 12:34:56 UTC, 14:34 in Berlin.
NOW_S = 1_789_475_696
BERLIN = find_zone("Europe/Berlin")


def shown(found: TimeRange) -> tuple[str, str]:
    """The start and the end by the clocks of the range's zone."""
    times = (datetime.fromtimestamp(it, found.zone) for it in (found.start_s, found.end_s))
    start, end = (f"{it:%Y-%m-%d %H:%M}" for it in times)
    return start, end


@pytest.mark.parametrize(
    ("preset", "start", "end", "bars"),
    [
        ("1h", "2026-09-15 13:35", "2026-09-15 14:35", 60),
        ("24h", "2026-09-14 15:00", "2026-09-15 15:00", 24),
        ("7d", "2026-09-09 00:00", "2026-09-16 00:00", 7),
        ("30d", "2026-08-17 00:00", "2026-09-16 00:00", 30),
        ("90d", "2026-06-18 00:00", "2026-09-16 00:00", 90),
        ("month", "2026-09-01 00:00", "2026-09-16 00:00", 15),
        ("last-month", "2026-08-01 00:00", "2026-09-01 00:00", 31),
    ],
)
def test_a_preset_is_in_the_zones_time(preset: str, start: str, end: str, bars: int) -> None:
    found = preset_range(preset, BERLIN, NOW_S)
    assert shown(found) == (start, end)
    assert len(found.bars_s) == bars
    assert found.includes_now is (preset != "last-month")


@pytest.mark.parametrize(
    ("preset", "start", "end"),
    [
        ("24h", "2026-09-13 15:30", "2026-09-14 15:00"),
        ("7d", "2026-09-02 09:30", "2026-09-09 00:00"),
        ("month", "2026-08-01 00:00", "2026-08-15 14:30"),
        ("last-month", "2026-07-01 00:00", "2026-08-01 00:00"),
    ],
)
def test_the_range_before_is_as_long_as_what_has_passed(preset: str, start: str, end: str) -> None:
    assert shown(preset_range(preset, BERLIN, NOW_S).before) == (start, end)


def test_days_are_compared_with_as_many_days_if_the_clocks_change() -> None:
    for since, until, before in (
        ("2026-03-28", "2026-03-29", ("2026-03-26T00:00+01:00", "2026-03-28T00:00+01:00")),
        ("2026-03-30", "2026-03-31", ("2026-03-28T00:00+01:00", "2026-03-30T00:00+02:00")),
    ):
        found = own_range(since, until, BERLIN, NOW_S).before
        times = (datetime.fromtimestamp(it, BERLIN) for it in (found.start_s, found.end_s))
        assert tuple(it.isoformat(timespec="minutes") for it in times) == before


def test_a_past_range_is_compared_with_all_of_the_time_before() -> None:
    assert shown(own_range("2026-09-03", "2026-09-04", UTC, NOW_S).before) == (
        "2026-09-01 00:00",
        "2026-09-03 00:00",
    )


@pytest.mark.parametrize(
    ("since", "until", "start", "end"),
    [
        ("2026-09-01", "2026-09-02", "2026-09-01 00:00", "2026-09-03 00:00"),
        ("2026-09-01T10:15", "2026-09-01T11:00", "2026-09-01 10:15", "2026-09-01 11:00"),
        ("2026-09-01T10:15Z", "2026-09-02", "2026-09-01 12:15", "2026-09-03 00:00"),
        ("", "2026-09-10", "2026-08-12 00:00", "2026-09-11 00:00"),
        ("2026-09-14", "", "2026-09-14 00:00", "2026-09-16 00:00"),
    ],
)
def test_own_ranges_are_days_or_minutes(since: str, until: str, start: str, end: str) -> None:
    assert shown(own_range(since, until, BERLIN, NOW_S)) == (start, end)


@pytest.mark.parametrize(
    ("since", "until", "param"),
    [
        ("yesterday", "", "since"),
        ("2026-09-31", "", "since"),
        ("", "1969-12-31", "until"),
        ("", "9999-01-01", "until"),
        ("2026-09-16", "2026-09-15", "until"),
        ("2025-09-01", "2026-09-15", "until"),
    ],
)
def test_an_invalid_range_is_named(since: str, until: str, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        own_range(since, until, UTC, NOW_S)
    assert caught.value.param == param


def test_long_ranges_have_a_bar_a_week() -> None:
    found = own_range("2026-01-01", "2026-09-15", UTC, NOW_S)
    assert len(found.bars_s) == 37
    assert len(found.buckets) == 258


def test_a_day_on_which_clocks_change_is_one_bar() -> None:
    found = own_range("2026-10-20", "2026-10-30", BERLIN, NOW_S)
    assert len(found.bars_s) == 11
    assert max(b - a for a, b in zip(found.bars_s, found.bars_s[1:], strict=False)) == 25 * 3600


def test_zones_have_iana_names() -> None:
    assert zone_names()[0] == "UTC"
    assert {"Europe/Berlin", "Asia/Kathmandu", "America/Argentina/Ushuaia"} <= set(zone_names())
    for name in ("Mars/Olympus", "", "Etc/GMT+1", "../etc/passwd"):
        with pytest.raises(InvalidRequest, match="IANA"):
            find_zone(name)


def test_an_unknown_preset_is_named_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match=", ".join(PRESETS)):
        preset_range("2h", UTC, NOW_S)
