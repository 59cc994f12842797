"""`tollgate prune`: removes old entries and keeps their rollups."""

import math
import sys
from datetime import UTC, datetime, timedelta

import click

from app.cli.actor import cli_actor
from app.cli.ledger import open_ledger
from app.cli.times import Moment
from app.ledger.refusals import prune_refusals
from app.ledger.retention import count_older, prune

#: Events may be replayed from spools and from the dead-letter stream. Their entries must still
#: exist then, or they would be counted twice.
LEAST_AGE = timedelta(days=30)


@click.command("prune")
@click.option(
    "--older-than",
    "before",
    type=Moment(),
    required=True,
    help="Age, such as 180d, or a date in UTC; at least 30 days ago.",
)
def prune_command(before: datetime) -> None:
    """Remove old entries from the ledger and keep their totals.

    Reports by account, key, vendor, model, hour and day do not change. Breakdowns by `user`, and by
    less than 15 minutes, are lost. Old counts of refused requests are removed.
    """
    if before > datetime.now(UTC) - LEAST_AGE:
        raise click.UsageError("--older-than must be at least 30 days ago")
    before_s, removed = math.floor(before.timestamp()), 0
    with open_ledger() as engine:
        length = count_older(engine, before_s)
        with click.progressbar(length=length, label="Entries removed", file=sys.stderr) as bar:
            for count in prune(engine, before_s, actor=cli_actor()):
                removed += count
                bar.update(count)
            bar.finish()
        prune_refusals(engine, before_s)
    click.echo(f"Removed {removed} entries. Their rollups are kept.", err=True)
