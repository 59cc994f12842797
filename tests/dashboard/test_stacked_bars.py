"""Stacked bars: their places and sizes, and the steps of the axes."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from app.dashboard.charts import Chart, Series
from app.dashboard.stacked_bars import HEIGHT, TIMES_LIMIT, TOP, bars, labelled_times, ticks


def chart(*values: list[int], start_s: int = 0, width_s: int = 3600) -> Chart:
    """Return a chart with a series for each list, and bars of a width."""
    series = [Series(f"s{at}", at + 1, of) for at, of in enumerate(values)]
    times_s = [start_s + it * width_s for it in range(len(values[0]))]
    return Chart("tokens", "Tokens", "tokens", times_s, times_s[-1] + width_s, series)


def test_the_values_of_a_bar_stand_on_each_other() -> None:
    first, second = bars(chart([30, 0], [10, 20]))
    assert ticks(chart([30, 0], [10, 20])) == [0, 10, 20, 30, 40]
    below, above = first.segments
    assert (below.height, above.height) == (HEIGHT * 0.75, HEIGHT * 0.25)
    assert (below.y, above.y) == (TOP + HEIGHT * 0.25, TOP)
    assert [it.color for it in second.segments] == [2]
    assert (first.x, second.x, second.width) == (0.0, 50.0, 50.0)
    assert first.values == (("s0", 30), ("s1", 10))
    assert (first.total, second.total) == (40, 20)


@pytest.mark.parametrize(
    ("largest", "lines"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (4, [0, 1, 2, 3, 4]),
        (5, [0, 2, 4, 6]),
        (9, [0, 5, 10]),
        (1001, [0, 500, 1000, 1500]),
        (41 * 10**9, [0, 20 * 10**9, 40 * 10**9, 60 * 10**9]),
    ],
)
def test_an_axis_has_few_lines_at_round_numbers_up_to_the_largest_bar(
    largest: int, lines: list[int]
) -> None:
    assert ticks(chart([largest, 0])) == lines


@pytest.mark.parametrize("count", [1, 7, 24, 30, 60, 90, 1000])
def test_times_are_written_below_few_bars(count: int) -> None:
    places = labelled_times(chart([1] * count))
    assert 1 <= len(places) <= TIMES_LIMIT + 1
    assert all(0 < x < 100 for x, _ in places)
    assert [time_s % 3600 for _, time_s in places] == [0] * len(places)


@pytest.mark.parametrize(
    ("count", "width_s", "start", "labels"),
    [
        (60, 60, "15:03", ["15:10", "15:20", "15:30", "15:40", "15:50", "16:00"]),
        (24, 3600, "17:00", ["20:00", "00:00", "04:00", "08:00", "12:00", "16:00"]),
        (72, 3600, "07:00", ["12:00", "00:00", "12:00", "00:00", "12:00", "00:00"]),
    ],
)
def test_bars_narrower_than_a_day_have_round_times_by_the_zones_clocks(
    count: int, width_s: int, start: str, labels: list[str]
) -> None:
    zone = ZoneInfo("Asia/Kolkata")
    start_s = int(datetime.fromisoformat(f"2026-11-01T{start}").replace(tzinfo=zone).timestamp())
    places = labelled_times(chart([1] * count, start_s=start_s, width_s=width_s), zone)
    assert [f"{datetime.fromtimestamp(it, zone):%H:%M}" for _, it in places] == labels
