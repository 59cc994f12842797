"""Usage as the overview shows it: rows over time, totals, groups, and the period before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.dashboard.aggregates import LABELS, Group, grouped, total
from app.dashboard.changes import Change, changes
from app.dashboard.charts import Chart, OverTime, TimedRow, colors_of
from app.dashboard.filters import GROUPS, Filters
from app.ledger.reports.pages import fill
from app.ledger.reports.query import UsageRow
from app.ledger.reports.reader import UsageReader


@dataclass(frozen=True, slots=True)
class UsageView:
    """The usage of a page's filters.

    `before` are totals of the period before, `groups_before` by the label of a group; that is empty
    where groups need entries, which are not read twice.
    """

    filters: Filters
    rows: Sequence[TimedRow]
    total: UsageRow
    groups: Sequence[Group]
    before: UsageRow
    groups_before: Mapping[str, UsageRow]

    @property
    def changes(self) -> Mapping[str, Change | None]:
        """The changes of the total's figures."""
        return changes(self.total, self.before)

    def changes_of(self, group: Group) -> Mapping[str, Change | None]:
        """The changes of a group's figures; empty if they are not known."""
        if group.is_other or (not self.groups_before and self.before.requests):
            return {}
        return changes(group.sums, self.groups_before.get(group.label) or total([]))

    @property
    def charts(self) -> list[Chart]:
        """The charts, in which a group has the same colour; each is ranked by what it shows."""
        filters = self.filters
        chosen = filters.range
        drawn = OverTime(self.rows, GROUPS[filters.by], chosen.bars_s, chosen.end_s)
        colors = colors_of(group.label for group in self.groups if not group.is_other)
        return [
            drawn.chart("requests", "Requests", "requests", lambda row: row.requests, colors),
            drawn.chart("failed", "Failed", "requests", lambda row: row.failed_requests, colors),
            drawn.chart("tokens", "Tokens", "tokens", lambda row: row.usage.total_tokens, colors),
            drawn.chart("cost", "Cost", "usd", lambda row: row.cost_nanousd, colors),
        ]


def read_usage(reader: UsageReader, filters: Filters, visible: frozenset[str] | None) -> UsageView:
    """Read what a page shows, and the totals of the period before.

    Raises: AccountNotAllowed, UsagePruned, LedgerUnavailable.
    """
    query = filters.query(visible)
    chosen = filters.range
    filled = fill(reader, query, chosen.buckets, chosen.width_s)
    rows = [(time_s, row) for time_s, of_bucket in filled.items() for row in of_bucket]
    by = GROUPS[filters.by]
    earlier = replace(query, start_s=chosen.before.start_s, end_s=chosen.before.end_s)
    if query.needs_entries:
        earlier = replace(earlier, group_by=())
    rows_before = reader.rows(earlier)
    by_label = {LABELS[by](row) or "": row for row in rows_before if not query.needs_entries}
    all_rows = [row for _, row in rows]
    return UsageView(
        filters, rows, total(all_rows), grouped(all_rows, by), total(rows_before), by_label
    )
