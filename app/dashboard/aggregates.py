"""Totals, groups and charts made from rows of the ledger. No I/O."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

from app.ledger.reports.query import GroupKey, UsageRow
from app.vocabulary.completion import USAGE_COUNTS, Usage

#: Groups with their own colour; the others are added up.
SERIES_LIMIT = 7
#: Groups with their own line in a table.
LINES_LIMIT = 100
REST = "other"

LABELS: Mapping[GroupKey, Callable[[UsageRow], str | None]] = {
    "account": lambda row: row.account_id,
    "vendor": lambda row: row.vendor,
    "model": lambda row: f"{row.vendor}/{row.model}",
    "api_key": lambda row: row.api_key_id,
}


@dataclass(frozen=True, slots=True)
class Group:
    """One line of a table: a group's totals. `is_other`: the total of groups without a line."""

    label: str
    sums: UsageRow
    is_other: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart over time: one value per time and series, the largest series first.

    With `has_rest`, the last series is the total of groups without a colour.
    Units: times are Unix seconds, `unit` is `tokens`, `usd` (nano-dollars) or `requests`.
    """

    title: str
    unit: str
    times_s: Sequence[int]
    bucket_s: int
    series: Sequence[tuple[str, Sequence[int]]]
    has_rest: bool

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(any(values) for _, values in self.series)

    @property
    def rows(self) -> list[tuple[int, list[int]]]:
        """The values of all series per time."""
        columns = [values for _, values in self.series]
        return [(t, [values[i] for values in columns]) for i, t in enumerate(self.times_s)]


def total(rows: Iterable[UsageRow]) -> UsageRow:
    """Return the total of rows."""
    counts = [0] * len(_SUMMED)
    usage = [0] * len(USAGE_COUNTS)
    for row in rows:
        counts = list(map(add, counts, (getattr(row, name) for name in _SUMMED)))
        usage = list(map(add, usage, (getattr(row.usage, name) for name in USAGE_COUNTS)))
    summed: dict[str, Any] = dict(zip(_SUMMED, counts, strict=True))
    return UsageRow(**summed, usage=Usage(**dict(zip(USAGE_COUNTS, usage, strict=True))))


_SUMMED = (
    "requests",
    "failed_requests",
    "estimated_requests",
    "cost_nanousd",
    "priced_requests",
    "empty_requests",
)


def grouped(rows: Iterable[UsageRow], by: GroupKey) -> list[Group]:
    """Return each group's totals over all times, sorted by tokens (descending), then by name."""
    by_label: defaultdict[str, list[UsageRow]] = defaultdict(list)
    for row in rows:
        by_label[LABELS[by](row) or ""].append(row)
    groups = [Group(label, total(of_group)) for label, of_group in by_label.items()]
    groups.sort(key=lambda it: (-it.sums.usage.total_tokens, -it.sums.requests, it.label))
    if len(groups) <= LINES_LIMIT:
        return groups
    rest = groups[LINES_LIMIT:]
    label = f"{len(rest):,} others"
    return [*groups[:LINES_LIMIT], Group(label, total(it.sums for it in rest), is_other=True)]


@dataclass(frozen=True, slots=True)
class OverTime:
    """Rows in buckets, and the groups to chart them by."""

    rows: Sequence[UsageRow]
    groups: Sequence[Group]
    by: GroupKey
    times_s: Sequence[int]
    bucket_s: int

    def chart(self, title: str, unit: str, measure: Callable[[UsageRow], int]) -> Chart:
        """Return the chart of one measure; groups have the same order and colours in all charts."""
        named = [group.label for group in self.groups[:SERIES_LIMIT] if not group.is_other]
        index = {time_s: i for i, time_s in enumerate(self.times_s)}
        values = {label: [0] * len(self.times_s) for label in named}
        rest = [0] * len(self.times_s)
        for row in self.rows:
            if row.bucket_start_s in index:
                series = values.get(LABELS[self.by](row) or "", rest)
                series[index[row.bucket_start_s]] += measure(row)
        series_of = list(values.items())
        has_rest = len(self.groups) > len(named)
        if has_rest:
            series_of.append((REST, rest))
        return Chart(title, unit, self.times_s, self.bucket_s, series_of, has_rest)
