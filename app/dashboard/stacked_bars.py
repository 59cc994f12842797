"""Stacked bars: where each value of a chart is drawn, and the steps of its axes. No I/O.

The template draws them as SVG, which needs no script, follows the theme, zooms and prints. Widths
are in per cent, so that a drawing fills any width without distorting its text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from app.dashboard.charts import Chart
from app.ledger.slots import DAY_S, HOUR_S

#: The height of the bars' area, and the space above it, in pixels.
HEIGHT, TOP = 180, 10
#: The share of a bar's place that it fills.
FILLED = 0.82
#: Lines of the axis of values, at most, besides the one at 0.
LINES_LIMIT = 4
#: Labels of the axis of time, at most.
TIMES_LIMIT = 6

#: The smallest step of an axis: 1 for counts, a nano-dollar for dollars.
_STEPS = (1, 2, 5)
#: The distances of the labels below bars that are narrower than a day, in seconds. Each divides a
#: day, so that labels are at round times: `15:10`, `18:00`.
_TIME_STEPS_S = (
    *(60 * it for it in (1, 2, 5, 10, 15, 20, 30)),
    *(HOUR_S * it for it in (1, 2, 3, 4, 6, 12, 24)),
)


@dataclass(frozen=True, slots=True)
class Segment:
    """One value: its rectangle's top and height in pixels, and the number of its colour."""

    y: float
    height: float
    color: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its place in per cent of the width, its time, and its values from below.

    `x` and `width` are of the place, `inner_x` and `inner_width` of the rectangles in it.
    """

    x: float
    width: float
    inner_x: float
    inner_width: float
    time_s: int
    segments: tuple[Segment, ...]
    values: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """The sum of its values."""
        return sum(number for _, number in self.values)


def ticks(chart: Chart) -> list[int]:
    """Return the values of the axis's lines, from 0: multiples of 1, 2 or 5 times a power of 10.

    The last one is at least the largest bar, and so the top of the drawing.
    """
    largest = max((sum(values) for _, values in chart.rows), default=0)
    power = 1
    while True:
        for step in _STEPS:
            lines = -(-largest // (step * power))
            if lines <= LINES_LIMIT:
                return [at * step * power for at in range(max(1, lines) + 1)]
        power *= 10


def y_of(number: int, top: int) -> float:
    """Return where a value is drawn, in pixels from the top of the drawing."""
    return round(TOP + HEIGHT * (1 - number / top), 2)


def bars(chart: Chart) -> Iterator[Bar]:
    """Yield the bars, including those without values."""
    top, width = ticks(chart)[-1], 100 / max(1, len(chart.times_s))
    for at, (time_s, values) in enumerate(chart.rows):
        below = 0
        segments = []
        for series, number in zip(chart.series, values, strict=True):
            if number <= 0:
                continue
            below += number
            height = round(HEIGHT * number / top, 2)
            segments.append(Segment(y_of(below, top), height, series.color))
        named = zip((it.label for it in chart.series), values, strict=True)
        yield Bar(
            x=round(at * width, 3),
            width=round(width, 3),
            inner_x=round((at + (1 - FILLED) / 2) * width, 3),
            inner_width=round(width * FILLED, 3),
            time_s=time_s,
            segments=tuple(segments),
            values=tuple((label, number) for label, number in named if number),
        )


def labelled_times(chart: Chart, zone: tzinfo = UTC) -> list[tuple[float, int]]:
    """Return the times to write below the chart, with the middle of their bars in per cent.

    Below bars narrower than a day, they are round times by the clocks of `zone`.
    """
    count = len(chart.times_s)
    places = _round_places(chart, zone) or _even_places(count)
    return [(round((at + 0.5) * 100 / count, 2), chart.times_s[at]) for at in places]


def _even_places(count: int) -> list[int]:
    step = next(
        (it for it in (1, 2, 3, 4, 5, 6, 7, 10, 12, 14, 15, 20, 30) if count / it <= TIMES_LIMIT),
        -(-count // TIMES_LIMIT),
    )
    return list(range((step - 1) // 2, count, step))


def _round_places(chart: Chart, zone: tzinfo) -> list[int]:
    """Return the bars that start at round times; none if bars are days, or too many."""
    length_s = chart.end_s - chart.times_s[0]
    if length_s > DAY_S // 2 * len(chart.times_s):
        return []
    step_s = next((it for it in _TIME_STEPS_S if length_s / it <= TIMES_LIMIT), None)
    if step_s is None:
        return []
    clocks_s = [_time_of_day_s(time_s, zone) for time_s in chart.times_s]
    return [at for at, clock_s in enumerate(clocks_s) if clock_s % step_s == 0]


def _time_of_day_s(time_s: int, zone: tzinfo) -> int:
    moment = datetime.fromtimestamp(time_s, zone)
    return moment.hour * HOUR_S + moment.minute * 60 + moment.second
