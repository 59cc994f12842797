"""Numbers and times as pages show them."""

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
    [(0, 0, "0 %"), (0, 5, "0 %"), (1, 3, "33.3 %"), (5, 5, "100 %"), (1, 10_000, "< 0.1 %")],
)
def test_shares(part: int, whole: int, text: str) -> None:
    assert formatting.share(part, whole) == text


def test_moments_are_utc() -> None:
    assert formatting.moment(1_788_220_800_999) == "2026-09-01 00:00:00"
