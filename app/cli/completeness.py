"""How far the ledger is complete, for a command: from Redis, or from what workers recorded."""

import os

import click

from app.cli.stream import open_redis
from app.ledger.invoices.origin import Completeness
from app.ledger.reports.source import ReportSource
from app.settings import Settings
from app.usage.completeness import complete_until_ms
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes


def read_completeness(source: ReportSource) -> Completeness:
    """Return how far the ledger is complete; read the ledger after this.

    Without REDIS_URL, that is how far the cells are, which workers record in PostgreSQL. If Redis
    is unavailable, it is unknown, and a line says so.
    Raises: ConfigError if a setting is invalid.
    """
    if not os.environ.get("REDIS_URL"):
        known = [float(it.complete_until_ms) for it in source.cells]
        return Completeness(until_ms=min(known, default=None))
    cell = Settings.from_env().cell
    try:
        with open_redis() as redis:
            processes = Processes(redis)
            own_ms, search = complete_until_ms(OpenRecords(redis), processes), processes.search()
    except click.ClickException as exc:
        click.echo(exc.message, err=True)
        return Completeness()
    if own_ms is None:
        return Completeness(search=search)
    return Completeness(until_ms=source.complete_until_ms(cell, own_ms), search=search)
