"""Numbers and times as pages show them."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from app.dashboard import formatting
from app.vocabulary.money import NANO


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (9999, "9,999"),
        (10_000, "10k"),
        (12_345, "12.3k"),
        (999_400, "999k"),
        (999_600, "1M"),
        (1_234_567, "1.23M"),
        (2**62, "4.61E"),
        (-12_345, "-12.3k"),
    ],
)
def test_short_counts(number: int, text: str) -> None:
    assert formatting.short_count(number) == text


@pytest.mark.parametrize(
    ("nanousd", "text"),
    [
        (0, "$0.00"),
        (1, "$0.000000001"),
        (99_999, "$0.000099999"),
        (100_000, "$0.0001"),
        (18_092_815, "$0.0181"),
        (99_990_000, "$0.1000"),
        (NANO // 10, "$0.10"),
        (1_407 * NANO // 1000, "$1.41"),
        (1_234_567 * NANO, "$1,234,567.00"),
        (-2 * NANO, "-$2.00"),
    ],
)
def test_dollars(nanousd: int, text: str) -> None:
    assert formatting.usd(nanousd) == text


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (None, "\N{EN DASH}"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (1240, "1.24 s"),
        (59_949, "59.9 s"),
        (59_999, "1 min"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (7_500_000, "2 h 5 min"),
        (86_400_000 * 3 + 3_600_000 * 4, "3 d 4 h"),
    ],
)
def test_durations(duration_ms: int | None, text: str) -> None:
    assert formatting.span(duration_ms) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0 %"),
        (0, 5, "0 %"),
        (1, 3, "33.3 %"),
        (5, 5, "100 %"),
        (1, 10_000, "< 0.1 %"),
        (9_996, 1000, "1,000 %"),
        (312, 10, "3,120 %"),
    ],
)
def test_shares(part: int, whole: int, text: str) -> None:
    assert formatting.share(part, whole) == text


def test_moments_are_utc() -> None:
    assert formatting.moment(1_788_220_800_999) == "2026-09-01 00:00:00"


def test_moments_are_those_of_a_zone() -> None:
    zone = ZoneInfo("Asia/Kathmandu")
    assert formatting.moment(1_788_220_800_999, zone) == "2026-09-01 05:45:00"
    assert formatting.iso_moment(1_788_220_800_999, zone) == "2026-09-01T05:45:00+05:45"
    assert formatting.offset(1_788_220_800_999, zone) == "UTC+05:45"
    assert formatting.offset(1_788_220_800_999, UTC) == ""


@pytest.mark.parametrize(("width_s", "text"), [(86_400, "1 Sep"), (3600, "14:05"), (60, "14:05")])
def test_times_below_a_chart_are_short(width_s: int, text: str) -> None:
    assert formatting.short_moment(1_788_220_800 + 14 * 3600 + 300, width_s) == text


@pytest.mark.parametrize(
    ("number", "unit", "exact", "short"),
    [
        (1_234_567, "tokens", "1,234,567", "1.23M"),
        (200 * NANO, "usd", "$200.00", "$200"),
        (NANO // 20, "usd", "$0.0500", "$0.05"),
        (12_345 * NANO, "usd", "$12,345.00", "$12.3k"),
        (-12_345 * NANO, "usd", "-$12,345.00", "-$12.3k"),
        (0, "usd", "$0.00", "$0"),
        (1_500_000, "usd", "$0.0015", "$0.0015"),
    ],
)
def test_amounts_of_charts(number: int, unit: str, exact: str, short: str) -> None:
    assert formatting.amount(number, unit) == exact
    assert formatting.short_amount(number, unit) == short


def test_a_count_has_its_noun() -> None:
    assert formatting.plural(1, "request") == "1 request"
    assert formatting.plural(1204, "request") == "1,204 requests"
    assert formatting.plural(0, "entry", "entries") == "0 entries"
