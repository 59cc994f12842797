"""A usage report as a table, as CSV or as JSON; knows nothing of where its rows come from."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

from app.cli.tables import Cell, add_bars, format_table, on_terminal
from app.cli.times import show_time
from app.completion import USAGE_COUNTS
from app.usage.query import UsageRow

COUNTS: tuple[str, ...] = ("requests", "failed_requests", "estimated_requests", *USAGE_COUNTS)
HEADINGS = ("requests", "failed", "prompt", "completion", "total", "cached", "estimated")


def _hour(row: UsageRow) -> str:
    return show_time((row.bucket_start_s or 0) * 1000)


#: Columns that rows can be summed by -> how each is shown.
LABELS: Mapping[str, Callable[[UsageRow], str | None]] = {
    "account": lambda row: row.account_id,
    "model": lambda row: f"{row.vendor}/{row.model}",
    "vendor": lambda row: row.vendor,
    "key": lambda row: row.api_key_id,
    "user": lambda row: row.user,
    "day": lambda row: _hour(row)[:10],
    "hour": _hour,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Rows from `start_s` to before `end_s` (Unix seconds), summed by the columns `by`."""

    start_s: int
    end_s: int
    by: tuple[str, ...]
    rows: Sequence[UsageRow]

    @property
    def period(self) -> str:
        """The range, for a person."""
        return f"from {show_time(self.start_s * 1000)} to {show_time(self.end_s * 1000)}"

    def sorted_rows(self) -> list[UsageRow]:
        """Return the rows by their columns where one is a time, else the most tokens first."""
        over_time = not {"day", "hour"}.isdisjoint(self.by)
        return sorted(self.rows, key=lambda row: self._rank(row, over_time))

    def _rank(self, row: UsageRow, over_time: bool) -> Any:
        labels = [label or "" for label in self.labels(row)]
        return labels if over_time else (-row.usage.total_tokens, labels)

    def labels(self, row: UsageRow) -> list[str | None]:
        """Return what tells a row apart, column by column."""
        return [LABELS[name](row) for name in self.by]

    def total(self) -> dict[str, int]:
        """Return the sum of every count."""
        counts = [row_counts(row) for row in self.rows]
        return {name: sum(count[name] for count in counts) for name in COUNTS}


def row_counts(row: UsageRow) -> dict[str, int]:
    """Return a row's counts by name, in the order of COUNTS; `requests` did not fail."""
    return {
        "requests": row.requests - row.failed_requests,
        "failed_requests": row.failed_requests,
        "estimated_requests": row.estimated_requests,
        **asdict(row.usage),
    }


def print_json(report: Report) -> None:
    """Print one object; times are ISO 8601 in UTC, counts whole numbers."""
    rows = report.sorted_rows()
    shown = {
        "start": show_time(report.start_s * 1000),
        "end": show_time(report.end_s * 1000),
        "rows": [dict(zip(report.by, report.labels(r), strict=True)) | row_counts(r) for r in rows],
        "total": report.total(),
    }
    click.echo(json.dumps(shown, indent=2))


def print_csv(report: Report) -> None:
    """Print a line of headings and one for each row, no total; what a row lacks is left empty."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*report.by, *COUNTS])
    for row in report.sorted_rows():
        writer.writerow([*report.labels(row), *row_counts(row).values()])


def print_table(report: Report) -> None:
    """Print a table with a total, and in a terminal a bar for each row's tokens."""
    if not report.rows:
        _say_nothing_is_recorded(report)
        return
    click.echo(f"Usage {report.period}, in tokens", err=True)
    for line in _table(report):
        click.echo(line)
    if any(row.estimated_requests for row in report.rows):
        click.echo("~ requests counted by Tollgate, which had no count from the vendor", err=True)


def _say_nothing_is_recorded(report: Report) -> None:
    click.echo(f"No usage is recorded {report.period}.", err=True)
    click.echo(
        "Look further back with --since. If requests were made just now, see that a worker and"
        " beat run: they post usage to the ledger.",
        err=True,
    )


def _table(report: Report) -> Iterable[str]:
    rows = report.sorted_rows()
    cells: list[list[Cell]] = [[*report.labels(r), *_cells(row_counts(r))] for r in rows]
    cells.append(["total", *[""] * (len(report.by) - 1), *_cells(report.total())])
    pretty = on_terminal()
    lines = list(format_table([*report.by, *HEADINGS], cells, pretty=pretty))
    if not pretty:
        return lines
    # The first line is the headings', the last one the total's: neither has a bar.
    return add_bars(lines, [0, *(row.usage.total_tokens for row in rows), 0])


def _cells(counts: Mapping[str, int]) -> list[Cell]:
    estimated = counts["estimated_requests"]
    return [
        counts["requests"],
        counts["failed_requests"],
        counts["prompt_tokens"],
        counts["completion_tokens"],
        counts["total_tokens"],
        counts["cached_tokens"],
        f"~{estimated}" if estimated else "",
    ]


FORMS: Mapping[str, Callable[[Report], None]] = {
    "table": print_table,
    "csv": print_csv,
    "json": print_json,
}
