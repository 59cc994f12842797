"""Charts over time made from rows of the ledger: series, their order and their colours. No I/O."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.dashboard.aggregates import LABELS
from app.ledger.reports.query import GroupKey, UsageRow

#: Groups with their own colour in a chart; the others are added up.
SERIES_LIMIT = 7
#: The colour of the others.
REST_COLOR = SERIES_LIMIT + 1
REST = "other"

#: The start of a row's bucket in Unix seconds, and the row.
TimedRow = tuple[int, UsageRow]


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one group, one per bar; `color` is a number from 1 to REST_COLOR."""

    label: str
    color: int
    values: Sequence[int]

    @property
    def total(self) -> int:
        """The sum of its values."""
        return sum(self.values)


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart over time: one value per bar and series, the largest series first.

    Units: times are Unix seconds, `unit` is `tokens`, `usd` (nano-dollars) or `requests`. A bar
    starts at its time and ends at the next one's, the last at `end_s`.
    """

    name: str
    title: str
    unit: str
    times_s: Sequence[int]
    end_s: int
    series: Sequence[Series]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(any(it.values) for it in self.series)

    @property
    def rows(self) -> list[tuple[int, list[int]]]:
        """The values of all series per bar."""
        return [(t, [it.values[i] for it in self.series]) for i, t in enumerate(self.times_s)]


@dataclass(frozen=True, slots=True)
class OverTime:
    """Rows in buckets, the bars to draw them in, and what to group them by."""

    rows: Sequence[TimedRow]
    by: GroupKey
    times_s: Sequence[int]
    end_s: int

    def chart(
        self,
        name: str,
        title: str,
        unit: str,
        measure: Callable[[UsageRow], int],
        colors: Mapping[str, int],
    ) -> Chart:
        """Return the chart of one measure, whose largest groups have series of their own.

        A group keeps its colour of `colors`; one without takes a colour that is free in the chart.
        """
        measured = [
            (LABELS[self.by](row) or "", time_s, number)
            for time_s, row in self.rows
            if (number := measure(row))
        ]
        totals: Counter[str] = Counter()
        for label, _, number in measured:
            totals[label] += number
        ranked = sorted(totals, key=lambda label: (-totals[label], label))
        named = _colored(ranked[:SERIES_LIMIT], colors)
        series = self._series(measured, named, has_rest=len(ranked) > SERIES_LIMIT)
        return Chart(name, title, unit, self.times_s, self.end_s, series)

    def _series(
        self, measured: Iterable[tuple[str, int, int]], named: Mapping[str, int], *, has_rest: bool
    ) -> list[Series]:
        """Return the series of the named groups, and one of all others: there may be thousands."""
        shown: list[str | None] = [*named, None] if has_rest else [*named]
        sums = {label: [0] * len(self.times_s) for label in shown}
        for label, time_s, number in measured:
            bar = bisect_right(self.times_s, time_s) - 1
            sums[label if label in named else None][bar] += number
        series = [Series(label, named[label], sums[label]) for label in named]
        return [*series, Series(REST, REST_COLOR, sums[None])] if has_rest else series


def colors_of(labels: Iterable[str]) -> dict[str, int]:
    """Return the colours of the first groups, by their labels."""
    return {label: color for label, color in zip(labels, range(1, REST_COLOR), strict=False)}


def _colored(labels: Sequence[str], colors: Mapping[str, int]) -> dict[str, int]:
    taken = {colors[label] for label in labels if label in colors}
    free = iter(sorted(set(range(1, REST_COLOR)) - taken))
    return {label: colors[label] if label in colors else next(free) for label in labels}
