"""Opens the ledger's database for one command; its errors become messages and exit code 1."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import click
from sqlalchemy import Engine

from app.accounts.errors import AccountsError
from app.ledger.reports.source import Reports, ReportSource
from app.settings import database_read_url, database_url
from app.storage.sql.engine import create_engine
from app.storage.sql.start_check import fault_of
from app.vocabulary.errors import LedgerUnavailable, UsagePruned


@contextmanager
def open_ledger() -> Iterator[Engine]:
    """Yield an engine on the database that the environment names, and close it.

    Raises: ClickException with the next step; ConfigError.
    """
    with _opened(database_url()) as engine, _ledger_messages():
        yield engine


@contextmanager
def open_reports() -> Iterator[ReportSource]:
    """Yield the database for a report: the read replica, if the environment names one.

    If the replica is unavailable, a line says so, and the report reads from the primary.
    Raises: ClickException with the next step; ConfigError.
    """
    read_url = database_read_url()
    with ExitStack() as engines, _ledger_messages():
        primary = engines.enter_context(_opened(database_url()))
        replica = engines.enter_context(_opened(read_url)) if read_url else None
        source = Reports(primary, replica).open()
        if replica is not None and not source.is_replica:
            click.echo("DATABASE_READ_URL is unavailable; reading from DATABASE_URL.", err=True)
        yield source


@contextmanager
def _opened(url: str) -> Iterator[Engine]:
    engine = create_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _ledger_messages() -> Iterator[None]:
    try:
        yield
    except AccountsError as exc:
        raise click.ClickException(str(exc)) from exc
    except UsagePruned as exc:
        raise click.ClickException(exc.message) from exc
    except LedgerUnavailable as exc:
        if fault := fault_of(exc.__cause__, database_url()):
            raise click.ClickException(f"DATABASE_URL: {fault}") from exc
        raise click.ClickException(
            f"{exc.message} Check DATABASE_URL; a new database needs `tollgate db upgrade` first."
        ) from exc
