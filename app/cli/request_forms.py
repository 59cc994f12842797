"""Prints a list of requests as a table, CSV or JSON. Does not depend on the ledger's queries."""

import json
from collections.abc import Callable, Mapping, Sequence

import click

from app.cli.request_page import request_row
from app.cli.tables import format_table, on_terminal
from app.ledger.reports.csv_cells import csv_headings, csv_line
from app.ledger.reports.recent import Request
from app.ledger.reports.request_columns import REQUEST_COLUMNS, request_values

HEADINGS = (
    "started (UTC)",
    "request",
    "account",
    "endpoint",
    "model",
    "status",
    "error",
    "tokens",
    "cost",
    "ms",
)


def print_table(requests: Sequence[Request], _bom: bool) -> None:
    """Print a table; nothing if there are no requests."""
    if requests:
        rows = [request_row(it) for it in requests]
        for line in format_table(HEADINGS, rows, pretty=on_terminal()):
            click.echo(line)


def print_csv(requests: Sequence[Request], bom: bool) -> None:
    """Print the file that the dashboard offers, with times in UTC."""
    click.echo(csv_headings(REQUEST_COLUMNS, bom=bom).removesuffix("\r\n"))
    for it in requests:
        click.echo(csv_line(request_values(it).values()).removesuffix("\r\n"))


def print_json(requests: Sequence[Request], _bom: bool) -> None:
    """Print an array with the fields of the CSV file."""
    click.echo(json.dumps([request_values(it) for it in requests], indent=2))


FORMS: Mapping[str, Callable[[Sequence[Request], bool], None]] = {
    "table": print_table,
    "csv": print_csv,
    "json": print_json,
}
