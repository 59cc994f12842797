"""The ledger's database, opened for one command; its failures become sentences and exit code 1."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from sqlalchemy import Engine

from app.accounts.errors import AccountsError
from app.settings import database_url
from app.storage.sql.engine import create_engine
from app.vocabulary.errors import LedgerUnavailable, UsagePruned


@contextmanager
def open_ledger() -> Iterator[Engine]:
    """Yield an engine on the database that the environment names, and close it.

    Raises: ClickException, which says what to do next; ConfigError.
    """
    engine = create_engine(database_url())
    try:
        yield engine
    except AccountsError as exc:
        raise click.ClickException(str(exc)) from exc
    except UsagePruned as exc:
        raise click.ClickException(exc.message) from exc
    except LedgerUnavailable as exc:
        raise click.ClickException(
            f"{exc.message} Check DATABASE_URL; a new database needs `tollgate db upgrade` first."
        ) from exc
    finally:
        engine.dispose()
