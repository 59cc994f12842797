"""`tollgate cells`: lists the cells that post to the ledger, and forgets one that is gone."""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict

import click

from app.cli.ledger import open_ledger
from app.cli.tables import format_table, on_terminal
from app.cli.times import show_time
from app.ledger.cells import PATIENCE_S, Cell, forget_cell, list_cells


@click.group()
def cells() -> None:
    """Show the cells: each is one Redis, with its web processes and workers."""


@cells.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List the cells, and up to when the ledger has all usage of each."""
    with open_ledger() as engine:
        found = list_cells(engine)
    if as_json:
        click.echo(json.dumps([asdict(cell) for cell in found], indent=2))
    elif found:
        rows = [
            (it.cell_id, show_time(it.complete_until_ms), show_time(it.written_at_ms))
            for it in found
        ]
        for line in format_table(("cell", "complete until", "written"), rows, pretty=on_terminal()):
            click.echo(line)
    else:
        click.echo("No cell has posted to this ledger yet.", err=True)


@cells.command("forget")
@click.argument("cell_id", metavar="CELL")
def forget_command(cell_id: str) -> None:
    """Forget the cell CELL, whose Redis no longer exists.

    Until then, usage is complete only up to when that cell's usage was. A cell whose worker runs
    is not forgotten.
    """
    with open_ledger() as engine:
        idle_since_ms = int((time.time() - PATIENCE_S) * 1000)
        if not forget_cell(engine, cell_id, idle_since_ms=idle_since_ms):
            raise click.ClickException(_why_not(cell_id, list_cells(engine)))
    click.echo(f"Forgot the cell {cell_id}.", err=True)


def _why_not(cell_id: str, known: Iterable[Cell]) -> str:
    for it in known:
        if it.cell_id == cell_id:
            return (
                f"The cell {cell_id} is live: its worker recorded it at"
                f" {show_time(it.written_at_ms)}. Stop its web processes, its worker and beat, wait"
                f" {PATIENCE_S} s, and run this command again."
            )
    return f"There is no cell {cell_id}. List the cells: tollgate cells list"
