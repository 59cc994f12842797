"""`tollgate db`: prepares the ledger's database."""

import click

from app.settings import database_url
from app.startup.common import check_release
from app.startup.finding import refused
from app.storage.sql.migrations import upgrade
from app.vocabulary.errors import LedgerUnavailable


@click.group()
def db() -> None:
    """Prepare the ledger's database."""


@db.command("upgrade")
def upgrade_database() -> None:
    """Upgrade the schema of the database in DATABASE_URL. You can repeat it safely.

    After a rollback to an older version of Tollgate, the newer schema stays, and works.
    """
    url = database_url()
    for found in refused(check_release()):
        raise click.ClickException(found.line)
    try:
        newer = upgrade(url)
    except LedgerUnavailable as exc:
        raise click.ClickException(f"{exc.message} Check DATABASE_URL.") from exc
    if newer is None:
        click.echo("The ledger's schema is up to date.", err=True)
    else:
        click.echo(
            f"The ledger's schema ({newer}) is of a newer version of Tollgate. It was not changed.",
            err=True,
        )
