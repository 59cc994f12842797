"""Totals and groups made from rows of the ledger. No I/O."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import add
from typing import Any

from app.ledger.reports.query import GroupKey, UsageRow
from app.vocabulary.completion import USAGE_COUNTS, Usage

#: Groups with their own line in a table.
LINES_LIMIT = 100

LABELS: Mapping[GroupKey, Callable[[UsageRow], str | None]] = {
    "account": lambda row: row.account_id,
    "vendor": lambda row: row.vendor,
    "model": lambda row: f"{row.vendor}/{row.model}",
    "api_key": lambda row: row.api_key_id,
    "user": lambda row: row.user,
    "status": lambda row: row.status,
    "endpoint": lambda row: row.endpoint,
}


@dataclass(frozen=True, slots=True)
class Group:
    """One line of a table: a group's totals. `is_other`: the total of groups without a line."""

    label: str
    sums: UsageRow
    is_other: bool = False


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
