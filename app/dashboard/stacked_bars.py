"""Stacked bars: where each value of a chart is drawn. No I/O.

The template draws them as SVG, which needs no script, follows the colour scheme, and prints.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from app.dashboard.aggregates import Chart

#: The size of the drawing, in units of its own: the page stretches it.
WIDTH, HEIGHT = 1000.0, 200.0
#: The share of a bucket's width that its bar fills.
FILLED = 0.85
#: Colours of the series; all values beyond the others have the last one.
COLORS = 8


@dataclass(frozen=True, slots=True)
class Bar:
    """One value: its rectangle, the number of its colour, and what it shows."""

    x: float
    y: float
    width: float
    height: float
    color: int
    time_s: int
    label: str
    number: int


def highest(chart: Chart) -> int:
    """Return the largest sum of a bucket, at least 1: the top of the drawing."""
    return max((sum(values) for _, values in chart.rows), default=0) or 1


def color_of(chart: Chart, index: int) -> int:
    """Return the number of a series' colour, from 1."""
    is_rest = chart.has_rest and index == len(chart.series) - 1
    return COLORS if is_rest else index + 1


def bars(chart: Chart) -> Iterator[Bar]:
    """Yield a bar for each value above 0; those of a bucket stand on each other."""
    top, step = highest(chart), WIDTH / max(1, len(chart.rows))
    for at, (time_s, values) in enumerate(chart.rows):
        below = 0
        for index, number in enumerate(values):
            if number <= 0:
                continue
            below += number
            yield Bar(
                x=round(at * step, 2),
                y=round(HEIGHT * (1 - below / top), 2),
                width=round(step * FILLED, 2),
                height=round(HEIGHT * number / top, 2),
                color=color_of(chart, index),
                time_s=time_s,
                label=chart.series[index][0],
                number=number,
            )
