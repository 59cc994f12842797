"""`tollgate db`: the ledger's database."""

import click

from app.database import upgrade
from app.errors import LedgerUnavailable
from app.settings import database_url


@click.group()
def db() -> None:
    """Prepare the ledger's database."""


@db.command("upgrade")
def upgrade_database() -> None:
    """Bring the schema of the database that DATABASE_URL names up to date; safe to repeat."""
    try:
        upgrade(database_url())
    except LedgerUnavailable as exc:
        raise click.ClickException(f"{exc.message} Check DATABASE_URL.") from exc
    click.echo("The ledger's schema is up to date.", err=True)
