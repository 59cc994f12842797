"""`tollgate db`: the ledger's database."""

import click

from app.settings import database_url
from app.storage.sql.migrations import upgrade
from app.vocabulary.errors import LedgerUnavailable


@click.group()
def db() -> None:
    """Prepare the ledger's database."""


@db.command("upgrade")
def upgrade_database() -> None:
    """Bring the schema of the database that DATABASE_URL names up to date; safe to repeat.

    After a roll-back, the schema of the newer version stays, and this version works on it.
    """
    try:
        newer = upgrade(database_url())
    except LedgerUnavailable as exc:
        raise click.ClickException(f"{exc.message} Check DATABASE_URL.") from exc
    if newer is None:
        click.echo("The ledger's schema is up to date.", err=True)
    else:
        click.echo(
            f"The ledger's schema ({newer}) is of a newer version of Tollgate; it stays as it is.",
            err=True,
        )
