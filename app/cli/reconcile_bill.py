"""`tollgate reconcile --bill`: compares a vendor's bill with the ledger."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from app.cli.filters import check_names
from app.cli.ledger import open_ledger
from app.cli.tables import Cell, format_table, on_terminal
from app.ledger.bill import Bill, BillError, read_bill
from app.ledger.bill_check import BillDifference, compare


def reconcile_bill(path: Path, vendors: Sequence[str], as_json: bool) -> None:
    """Compare a bill with the ledger and print the differences; exit with 1 if there are any."""
    try:
        bill = read_bill(path.read_bytes())
    except BillError as exc:
        raise click.ClickException(f"{path}: {exc}.") from exc
    with open_ledger() as engine:
        check_names(engine, vendors=tuple(vendors))
        found = compare(engine, bill, vendors)
    if as_json:
        click.echo(json.dumps([asdict(it) for it in found], indent=2, default=str))
    elif found:
        _print(found)
    click.echo(_summary(bill, vendors, found), err=True)
    if found:
        sys.exit(1)


def _print(found: Sequence[BillDifference]) -> None:
    rows: list[list[Cell]] = [
        [
            it.day.isoformat(),
            it.model,
            it.measure,
            it.billed,
            it.recorded,
            (it.billed or 0) - (it.recorded or 0),
            it.estimated_requests,
        ]
        for it in found
    ]
    headings = ("day", "model", "measure", "bill", "ledger", "bill - ledger", "estimated requests")
    for line in format_table(headings, rows, pretty=on_terminal()):
        click.echo(line)


def _summary(bill: Bill, vendors: Sequence[str], found: Sequence[BillDifference]) -> str:
    days = f"{bill.first} to {bill.last} (UTC)"
    if not found:
        return f"The bill and the ledger agree on {', '.join(vendors)}, {days}."
    number = "1 difference" if len(found) == 1 else f"{len(found)} differences"
    return (
        f"The bill and the ledger have {number}, {days}. `-` marks a value that is"
        " missing on one side. Estimated requests explain small differences."
    )
