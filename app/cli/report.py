"""Prints a usage report as a table, CSV or JSON. Does not depend on the ledger's queries."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from functools import reduce
from operator import add
from typing import Any

import click

from app.cli.tables import Cell, add_bars, format_table, on_terminal
from app.cli.times import show_local
from app.ledger.reports.csv_cells import csv_headings, csv_line
from app.ledger.reports.query import NO_USAGE, UsageRow
from app.vocabulary.completion import USAGE_COUNTS
from app.vocabulary.money import dollars

COUNTS: tuple[str, ...] = (
    "requests",
    "failed_requests",
    "estimated_requests",
    "unpriced_requests",
    *USAGE_COUNTS,
)
HEADINGS = ("requests", "failed", "prompt", "completion", "total", "cached", "cost", "estimated")


def _hour(row: UsageRow, zone: tzinfo) -> str:
    # The first bucket may start inside its hour.
    local = datetime.fromtimestamp(row.bucket_start_s or 0, zone)
    return show_local(int(local.replace(minute=0, second=0).timestamp()), zone)


def _day(row: UsageRow, zone: tzinfo) -> str:
    return datetime.fromtimestamp(row.bucket_start_s or 0, zone).date().isoformat()


#: Columns that rows can be grouped by -> the label of a row, in a time zone.
LABELS: Mapping[str, Callable[[UsageRow, tzinfo], str | None]] = {
    "account": lambda row, _: row.account_id,
    "model": lambda row, _: f"{row.vendor}/{row.model}",
    "vendor": lambda row, _: row.vendor,
    "key": lambda row, _: row.api_key_id,
    "user": lambda row, _: row.user,
    "status": lambda row, _: row.status,
    "endpoint": lambda row, _: row.endpoint,
    "day": _day,
    "hour": _hour,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Rows from `start_s` to `end_s` (Unix seconds, exclusive), grouped by the columns `by`.

    `subject` names the account, or all accounts. Days and times are those of `zone`. `bom` starts a
    CSV file with a byte-order mark.
    """

    subject: str
    start_s: int
    end_s: int
    by: tuple[str, ...]
    rows: Sequence[UsageRow]
    zone: tzinfo = UTC
    bom: bool = False

    @property
    def period(self) -> str:
        """The range as text."""
        return f"from {show_local(self.start_s, self.zone)} to {show_local(self.end_s, self.zone)}"

    def sorted_rows(self) -> list[UsageRow]:
        """Return the rows sorted by their columns if one is a time, otherwise by most tokens."""
        over_time = not {"day", "hour"}.isdisjoint(self.by)
        return sorted(self.rows, key=lambda row: self._rank(row, over_time))

    def _rank(self, row: UsageRow, over_time: bool) -> Any:
        labels = [label or "" for label in self.labels(row)]
        return labels if over_time else (-row.usage.total_tokens, labels)

    def labels(self, row: UsageRow) -> list[str | None]:
        """Return a row's label for each column."""
        return [LABELS[name](row, self.zone) for name in self.by]

    def total(self) -> UsageRow:
        """Return the total of all rows."""
        return reduce(add, self.rows, NO_USAGE)


def row_counts(row: UsageRow) -> dict[str, int]:
    """Return a row's counts by name, in the order of COUNTS; `requests` includes failed ones."""
    return {
        "requests": row.requests,
        "failed_requests": row.failed_requests,
        "estimated_requests": row.estimated_requests,
        "unpriced_requests": row.unpriced_requests,
        **asdict(row.usage),
    }


def row_cost(row: UsageRow) -> str | None:
    """Return the exact cost in dollars of the requests with a known price; None without any."""
    nanousd = row.known_cost_nanousd
    return None if nanousd is None else dollars(nanousd)


def print_json(report: Report) -> None:
    """Print one object. Times are ISO 8601, counts whole numbers, costs exact strings."""
    rows = report.sorted_rows()
    shown = {
        "start": show_local(report.start_s, report.zone),
        "end": show_local(report.end_s, report.zone),
        "rows": [
            {**dict(zip(report.by, report.labels(r), strict=True)), **_values(r)} for r in rows
        ],
        "total": _values(report.total()),
    }
    click.echo(json.dumps(shown, indent=2))


def _values(row: UsageRow) -> dict[str, int | str | None]:
    return {**row_counts(row), "cost_usd": row_cost(row)}


def print_csv(report: Report) -> None:
    """Print a line of headings and one line per row, without a total; None is an empty cell."""
    lines = [csv_headings([*report.by, *COUNTS, "cost_usd"], bom=report.bom)]
    lines += [csv_line([*report.labels(r), *_values(r).values()]) for r in report.sorted_rows()]
    for line in lines:
        click.echo(line.removesuffix("\r\n"))


def print_table(report: Report) -> None:
    """Print a table with a total, a summary and, in a terminal, a bar for each row's tokens."""
    if not report.rows:
        _print_no_usage(report)
        return
    click.echo(f"Usage {report.period}, in tokens", err=True)
    for line in _table(report):
        click.echo(line)
    click.echo(f"\n{summary(report)}")
    if any(row.estimated_requests for row in report.rows):
        click.echo(
            "~ requests whose tokens Tollgate estimated, because the vendor did not report them",
            err=True,
        )
    if any(row.unpriced_requests for row in report.rows):
        click.echo("? requests without a known price. List them: tollgate prices missing", err=True)


def summary(report: Report) -> str:
    """Return a summary of the report in one line."""
    total = report.total()
    usage, cost = total.usage, row_cost(total)
    line = (
        f"{report.subject}, {report.period}: {_counted(total.requests, 'request')},"
        f" {_counted(usage.total_tokens, 'token')} ({usage.prompt_tokens:,} prompt,"
        f" {usage.completion_tokens:,} completion), {f'${cost}' if cost else 'cost unknown'}."
    )
    asides = [
        f"{count:,} {what}"
        for count, what in (
            (total.failed_requests, "failed"),
            (total.estimated_requests, "estimated"),
            (total.unpriced_requests, "without a known price (not in the cost)"),
        )
        if count
    ]
    return f"{line} Of the requests: {'; '.join(asides)}." if asides else line


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _print_no_usage(report: Report) -> None:
    click.echo(f"No usage is recorded {report.period}.", err=True)
    click.echo(
        "Use --since to look further back. If you have just made requests, check that a worker and"
        " beat run: they post usage to the ledger.",
        err=True,
    )


def _table(report: Report) -> Iterable[str]:
    rows = report.sorted_rows()
    pretty = on_terminal()
    labels: list[list[Cell]] = [[*report.labels(row)] for row in rows]
    labels.append(["total", *[""] * (len(report.by) - 1)])
    shown = [*rows, report.total()]
    costs = [_cost_cell(row, pretty) for row in shown]
    width = max(map(len, costs))
    cells = [
        [*label, *_cells(row, cost.rjust(width))]
        for label, row, cost in zip(labels, shown, costs, strict=True)
    ]
    lines = list(format_table([*report.by, *HEADINGS], cells, pretty=pretty))
    if not pretty:
        return lines
    # No bars for the headings and the total.
    return add_bars(lines, [0, *(row.usage.total_tokens for row in rows), 0])


def _cost_cell(row: UsageRow, pretty: bool) -> str:
    """Return the cost; `?` marks a cost that leaves out requests with no known price."""
    cost, doubt = row_cost(row), "?" if row.unpriced_requests else ""
    if cost is None:
        return doubt
    if not pretty:
        return f"${cost}{doubt}"
    amount = Decimal(cost)
    tiny = 0 < amount < Decimal("0.0001")
    return f"<$0.0001{doubt}" if tiny else f"${amount:,.4f}{doubt}"


def _cells(row: UsageRow, cost: str) -> list[Cell]:
    counts = row_counts(row)
    estimated = counts["estimated_requests"]
    return [
        counts["requests"],
        counts["failed_requests"],
        counts["prompt_tokens"],
        counts["completion_tokens"],
        counts["total_tokens"],
        counts["cached_tokens"],
        cost,
        f"~{estimated}" if estimated else "",
    ]


FORMS: Mapping[str, Callable[[Report], None]] = {
    "table": print_table,
    "csv": print_csv,
    "json": print_json,
}
