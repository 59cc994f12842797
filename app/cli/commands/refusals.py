"""`tollgate refusals`: reports requests that were refused before any vendor was called."""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from app.cli.bom import bom_option, check_bom
from app.cli.columns import Columns
from app.cli.filters import check_names, chosen
from app.cli.ledger import open_reports
from app.cli.tables import format_table, on_terminal
from app.cli.times import Moment, show_time
from app.ledger.reports.csv_cells import csv_headings, csv_line
from app.ledger.reports.query import GroupKey, UsageQuery
from app.ledger.reports.refusals import RefusalRow
from app.ledger.slots import DAY_S, HOUR_S, floor_to
from app.vocabulary.request import ENDPOINTS

GROUP_KEYS: Mapping[str, GroupKey] = {
    "reason": "reason",
    "account": "account",
    "key": "api_key",
    "endpoint": "endpoint",
}
WIDTHS_S: Mapping[str, int] = {"day": DAY_S, "hour": HOUR_S}


def _hour(row: RefusalRow) -> str:
    return show_time((row.bucket_start_s or 0) * 1000)


LABELS: Mapping[str, Callable[[RefusalRow], str | None]] = {
    "reason": lambda row: row.reason,
    "account": lambda row: row.account_id,
    "key": lambda row: row.api_key_id,
    "endpoint": lambda row: row.endpoint,
    "day": lambda row: _hour(row)[:10],
    "hour": _hour,
}


@click.command("refusals")
@click.option(
    "--since",
    type=Moment(),
    default="30d",
    show_default=True,
    help="Start: 30d, 12h or 90m ago, or an ISO date or time in UTC; whole hours are counted.",
)
@click.option("--until", type=Moment(), help="End of the range (exclusive); default: now.")
@click.option("--account", "accounts", multiple=True, help="Only this account; may be repeated.")
@click.option("--key", "keys", multiple=True, help="Only this key, by its id; may be repeated.")
@click.option(
    "--endpoint",
    "endpoints",
    type=click.Choice(ENDPOINTS),
    multiple=True,
    help="Only requests to this endpoint; may be repeated.",
)
@click.option(
    "--by",
    type=Columns(tuple(LABELS)),
    default="reason",
    show_default=True,
    help="Group by reason, account, key, endpoint, day or hour; separate several with commas.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@bom_option
def refusals_command(
    *,
    since: datetime,
    until: datetime | None,
    by: tuple[str, ...],
    form: str,
    bom: bool,
    **names: tuple[str, ...],
) -> None:
    """Show how many requests were refused before any vendor was called, and why.

    They are not in `tollgate usage`, and cost nothing. The reason is the error's code, for limits
    with the limit that was reached. Account and key are empty if the request did not tell them.
    """
    check_bom(form, bom=bom)
    query = _query(_range_s(since, until), names, by)
    with open_reports() as source:
        check_names(source.engine, account_ids=names["accounts"], api_key_ids=names["keys"])
        rows = source.refusals.rows(query)
    if form == "table":
        _print_span(query)
    FORMS[form](by, _sorted(rows, by), bom)


def _range_s(since: datetime, until: datetime | None) -> tuple[int, int]:
    """Return the start, which is the start of an hour, and the end in Unix seconds.

    Raises: click.UsageError.
    """
    start_s = floor_to(math.floor(since.timestamp()), HOUR_S)
    end_s = math.ceil(time.time() if until is None else until.timestamp())
    if start_s >= end_s:
        raise click.UsageError("--since must be before --until")
    return start_s, end_s


def _query(
    span_s: tuple[int, int], names: Mapping[str, tuple[str, ...]], by: Sequence[str]
) -> UsageQuery:
    return UsageQuery(
        start_s=span_s[0],
        end_s=span_s[1],
        bucket_s=next((WIDTHS_S[name] for name in by if name in WIDTHS_S), None),
        account_ids=chosen(names["accounts"]),
        api_key_ids=chosen(names["keys"]),
        endpoints=chosen(names["endpoints"]),
        group_by=tuple(GROUP_KEYS[name] for name in by if name in GROUP_KEYS),
    )


def _print_span(query: UsageQuery) -> None:
    start, end = show_time(query.start_s * 1000), show_time(query.end_s * 1000)
    click.echo(f"Refused from {start} to {end}", err=True)


def _sorted(rows: Iterable[RefusalRow], by: Sequence[str]) -> list[RefusalRow]:
    """Return rows by time if they are grouped by it, and else the most requests first."""
    if not WIDTHS_S.keys().isdisjoint(by):
        return list(rows)
    return sorted(rows, key=lambda row: (-row.requests, _labels(row, by)))


def _labels(row: RefusalRow, by: Sequence[str]) -> list[str]:
    return [LABELS[name](row) or "" for name in by]


def _print_table(by: Sequence[str], rows: Sequence[RefusalRow], _bom: bool) -> None:
    if not rows:
        click.echo("No refused requests are recorded in this range.", err=True)
        return
    total: list[Any] = ["total", *[""] * (len(by) - 1), sum(row.requests for row in rows)]
    cells: list[list[Any]] = [[*_labels(row, by), row.requests] for row in rows]
    for line in format_table([*by, "refused"], [*cells, total], pretty=on_terminal()):
        click.echo(line)


def _print_csv(by: Sequence[str], rows: Sequence[RefusalRow], bom: bool) -> None:
    lines = [csv_headings([*by, "refused_requests"], bom=bom)]
    lines += [csv_line([*_labels(row, by), row.requests]) for row in rows]
    for line in lines:
        click.echo(line.removesuffix("\r\n"))


def _print_json(by: Sequence[str], rows: Sequence[RefusalRow], _bom: bool) -> None:
    shown = [
        {**dict(zip(by, _labels(row, by), strict=True)), "refused_requests": row.requests}
        for row in rows
    ]
    total = sum(row.requests for row in rows)
    click.echo(json.dumps({"rows": shown, "total": {"refused_requests": total}}, indent=2))


FORMS: Mapping[str, Callable[[Sequence[str], Sequence[RefusalRow], bool], None]] = {
    "table": _print_table,
    "csv": _print_csv,
    "json": _print_json,
}
