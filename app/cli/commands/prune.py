"""`tollgate prune`: old entries go, their sums stay."""

import math
import sys
from datetime import UTC, datetime, timedelta

import click

from app.cli.ledger import open_ledger
from app.cli.times import Moment
from app.ledger.retention import count_older, prune

#: Events are replayed from spools and the dead stream; by then they must still be known.
LEAST_AGE = timedelta(days=30)


@click.command("prune")
@click.option(
    "--older-than",
    "before",
    type=Moment(),
    required=True,
    help="How old an entry must be, such as 180d, or a date in UTC; 30 days at least.",
)
def prune_command(before: datetime) -> None:
    """Remove the ledger's old entries, and keep what was summed of them.

    Reports by account, key, vendor, model, hour and day stay as they are. Who the `user` was, and
    what happened within a quarter of an hour, is gone.
    """
    if before > datetime.now(UTC) - LEAST_AGE:
        raise click.UsageError("--older-than must be 30 days at least")
    before_s, removed = math.floor(before.timestamp()), 0
    with open_ledger() as engine:
        length = count_older(engine, before_s)
        with click.progressbar(length=length, label="Entries removed", file=sys.stderr) as bar:
            for count in prune(engine, before_s):
                removed += count
                bar.update(count)
            bar.finish()
    click.echo(f"{removed} entries removed; their rollups are kept.", err=True)
