"""Migrations of the ledger's database: runs Alembic's scripts, and checks which have run."""

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from app.settings import CONFIG_DIR
from app.storage.sql.engine import create_engine
from app.storage.sql.errors import is_retryable, ledger_errors
from app.storage.sql.partitions import create_months
from app.storage.sql.sqlite import BUSY_S
from app.storage.sql.transactions import pause, reading, write
from app.vocabulary.errors import LedgerUnavailable

#: Alembic's scripts.
MIGRATIONS = CONFIG_DIR / "migrations"
#: The advisory lock on PostgreSQL that all versions of Tollgate migrate under; an arbitrary number.
MIGRATION_LOCK = 0x746F6C6C
#: How long a migration waits for a table that is in use, in whole seconds.
MIGRATION_WAIT_S = 10

#: Where Alembic stores the database's revision.
_REVISION = sa.table("alembic_version", sa.column("version_num"))

logger = logging.getLogger(__name__)


def upgrade(url: str) -> str | None:
    """Migrate the database at `url` to this version's schema, unless it is there already.

    All migrations run in one transaction under a lock, so several processes may call this at the
    same time. If a newer version has migrated the database, nothing is changed and its revision
    is returned; otherwise None.
    Raises: LedgerUnavailable, nothing changed.
    """
    engine = create_engine(url)
    try:
        if engine.dialect.name == "sqlite":
            with ledger_errors():
                _use_wal(engine)
            return write(engine, _run_migrations)
        with _alone(engine), _prepared(engine):
            newer = write(engine, _run_migrations)
        try:
            create_months(engine, time.time())
        except LedgerUnavailable as exc:
            logger.warning("the worker will create the coming months' partitions: %s", exc)
        return newer
    finally:
        engine.dispose()


def schema_is_current(engine: Engine) -> bool:
    """Return whether all migrations that this version knows have run.

    A newer schema counts as current: during a rolling update, the old version still serves.
    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        revision = revision_of(connection)
    return revision is not None and revision not in known_revisions()[:-1]


@cache
def known_revisions() -> tuple[str, ...]:
    """Return this version's revisions, oldest first: each script's name begins with its own."""
    names = (path.name for path in (MIGRATIONS / "versions").glob("*.py"))
    return tuple(sorted(name.partition("_")[0] for name in names if name[0].isdigit()))


def _use_wal(engine: Engine) -> None:
    deadline_s = time.monotonic() + BUSY_S
    while True:
        try:
            with engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                return
        except DBAPIError as exc:
            if not is_retryable(exc) or time.monotonic() > deadline_s:
                raise
            pause()  # SQLite does not wait here: if two processes try at once, one fails


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """Wait, without a limit, for other migrations of a PostgreSQL database, and exclude them."""
    with ledger_errors(), engine.connect() as connection, connection.begin():
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        # Without parameters: with some, the session would keep the statement's snapshot, for whose
        # end an index that is created concurrently waits.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
        yield


@contextmanager
def _prepared(engine: Engine) -> Iterator[None]:
    """Run what pending migrations do before their transaction: a script's function `prepared`.

    It is a context, in which the migrations run. A new database needs none.
    """
    with reading(engine) as connection:
        revision = revision_of(connection)
    with ledger_errors(), ExitStack() as contexts:
        if revision in known_revisions()[:-1]:
            from alembic.script import ScriptDirectory  # noqa: PLC0415 - as below

            scripts = ScriptDirectory(str(MIGRATIONS)).iterate_revisions("head", revision)
            for script in scripts:
                if prepared := getattr(script.module, "prepared", None):
                    contexts.enter_context(prepared(engine))
        yield


def _run_migrations(connection: Connection) -> str | None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        # A migration that waits for a table blocks all later users of that table, so it fails
        # instead.
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATION_WAIT_S}s'")
    revision = revision_of(connection)
    if revision is not None and revision not in known_revisions():
        _check_tables(connection)
        return revision
    # Imported here because Alembic loads all its dialects: 0.2 s that web processes do not need.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    # The option passes through configparser, in which % is special.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return None


def _check_tables(connection: Connection) -> None:
    """Check that a database of a newer version has this version's tables.

    Raises: LedgerUnavailable.
    """
    # Imported here, since only migrations need the tables.
    from app.storage.sql.tables import metadata  # noqa: PLC0415

    if missing := set(metadata.tables) - set(sa.inspect(connection).get_table_names()):
        raise LedgerUnavailable(
            f"The database has an unknown revision and no table {min(missing)!r}: it belongs to"
            " another program, or to a version that is much newer."
        )


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database's schema; None before the first migration."""
    if not sa.inspect(connection).has_table(_REVISION.name):
        return None
    return connection.scalar(sa.select(_REVISION.c.version_num))
