"""Requests whose usage is missing, for `tollgate reconcile`: their table, and writing them off."""

import time
from collections.abc import Iterator

import click
from redis import Redis
from sqlalchemy import Engine

from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import show_time
from app.ledger.process_numbers import write_off
from app.observability.missing_check import MissingCheck, settled
from app.settings import Settings
from app.usage.missing import Search, count_missing

#: The most rows in the table; all are counted.
SHOWN = 20


def search_missing(redis: "Redis", engine: Engine, settings: Settings) -> Search:
    """Search for what is missing at this moment; some of it may have been found before.

    Raises: StreamUnavailable, LedgerUnavailable.
    """
    return MissingCheck(redis, engine, settings.cell, settings.redis_timeout_s).find(
        time.time_ns() // 1_000_000
    )


def problems_of_missing(search: Search) -> Iterator[str]:
    """Yield what to do about requests that have been missing for long enough."""
    if lost := settled(search, time.time_ns() // 1_000_000):
        yield (
            f"Requests whose usage is missing: {count_missing(lost)}. A web process on the disk of"
            " the one that served them sends their usage again; if it went to a log, run tollgate"
            " reconcile --from-log FILE. If nothing can bring it back: tollgate reconcile"
            " --write-off"
        )


def missing_table(search: Search) -> Iterator[str]:
    """Yield the lines of a table, with the web process and the minutes of each gap."""
    lost, found = set(settled(search, time.time_ns() // 1_000_000)), search.missing
    rows: list[tuple[Cell, ...]] = [
        (
            it.process,
            str(it.first) if it.size == 1 else f"{it.first}-{it.last}",
            it.size,
            show_time(it.from_ms),
            show_time(it.to_ms),
            "missing" if it in lost else "may be on its way",
        )
        for it in found[:SHOWN]
    ]
    headings = ("process", "numbers", "requests", "started from", "to", "")
    yield from format_table(headings, rows, pretty=on_terminal())
    if len(found) > SHOWN:
        yield f"and {len(found) - SHOWN} more gaps"


def write_off_missing(engine: Engine, search: Search) -> None:
    """Have the ledger expect the missing usage no more, and say how much that was.

    Raises: LedgerUnavailable.
    """
    lost = settled(search, time.time_ns() // 1_000_000)
    click.echo(f"Written off: the usage of {write_off(engine, lost)} requests.", err=True)
