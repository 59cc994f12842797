"""The ledger's database: engines, transactions, migrations, and the one place for its errors.

Knows SQLite and PostgreSQL; knows no table of ours.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, Table, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.settings import CONFIG_DIR, ConfigError
from app.storage.sql.postgresql import postgresql_engine, refused_parameter
from app.vocabulary.errors import LedgerUnavailable

T = TypeVar("T")
Insert = postgresql.Insert | sqlite.Insert

#: How long a SQLite connection waits for another process's write.
BUSY_S = 10.0
#: Times that a transaction is tried when the database itself asks for a repeat.
ATTEMPTS = 3
#: The pause before each repeat, seconds: from, to.
PAUSE_S = (0.02, 0.1)
#: Alembic's scripts, and where it keeps the revision that a database is at.
MIGRATIONS = CONFIG_DIR / "migrations"
_REVISION = sa.table("alembic_version", sa.column("version_num"))
#: Any number will do, so long as every Tollgate asks PostgreSQL for the same lock.
MIGRATION_LOCK = 0x746F6C6C

#: How long a migration waits for a table that somebody uses, in whole seconds.
MIGRATION_WAIT_S = 10

_MISSING_TABLE = "42P01"
_REPEATABLE = frozenset({"40001", "40P01"})  # serialization failure, deadlock
_NO_ANSWER = "The usage ledger does not answer."
_FILE_FAULTS = {
    sqlite3.SQLITE_CANTOPEN: "The usage ledger's file cannot be opened: see who may write there.",
    sqlite3.SQLITE_READONLY: "The usage ledger's file cannot be written: see whose it is.",
    sqlite3.SQLITE_FULL: "The disk of the usage ledger is full.",
}
_NOT_MIGRATED = "The usage ledger's schema is not up to date."


def create_engine(url: str) -> Engine:
    """Return an engine for `sqlite:///path` or `postgresql+psycopg://…`; nothing is connected yet.

    Raises: ConfigError when the URL is of no use, without repeating it: it may hold a password.
    """
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite":
            return _sqlite_engine(parsed)
        if parsed.get_backend_name() == "postgresql":
            return postgresql_engine(parsed)
    except ModuleNotFoundError as exc:
        raise ConfigError(f"DATABASE_URL needs a driver that is not installed: {exc.name}") from exc
    except SQLAlchemyError as exc:
        raise ConfigError("DATABASE_URL is not a database URL") from exc
    raise ConfigError("DATABASE_URL must begin with sqlite:///, postgres:// or postgresql://")


def _sqlite_engine(url: URL) -> Engine:
    if url.database in {None, "", ":memory:"}:
        raise ConfigError("DATABASE_URL names no file; several processes share the ledger")
    directory = Path(str(url.database)).parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ConfigError(f"cannot make the ledger's directory {directory}: {exc}") from exc
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_S})
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # The driver would begin transactions by its own rules, too late for a read before a write.
    connection.isolation_level = None
    # FULL: an event is dropped from Redis once it is committed here, so a commit outlives a
    # power cut. WAL itself is a property of the file: `upgrade` sets it.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("isolation_level") == "AUTOCOMMIT":
        return
    # A transaction that read first and then writes would fail when another wrote in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction that only reads.

    Raises: LedgerUnavailable.
    """
    with ledger_errors(), engine.connect() as connection, connection.begin():
        yield connection


def write(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run `work` in one transaction, commit it and return its result.

    Repeats: on a deadlock, a serialization failure or a locked SQLite file, the transaction is
    rolled back and `work` runs again, ATTEMPTS times in all; so it must change nothing else.
    Raises: LedgerUnavailable, nothing written, unless the connection broke in the commit itself.
    """
    with ledger_errors():
        for _ in range(ATTEMPTS - 1):
            try:
                return _write_once(engine, work)
            except DBAPIError as exc:
                if not _repeatable(exc):
                    raise
            pause_s = random.uniform(*PAUSE_S)  # noqa: S311 - no secret
            time.sleep(pause_s)  # at once, it would take its locks before the winner has got them
        return _write_once(engine, work)


def _write_once(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.execution_options(writes=True).begin() as connection:
        return work(connection)


def insert(connection: Connection, table: Table) -> Insert:
    """Return an INSERT that can say ON CONFLICT in the connection's own dialect."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


@contextmanager
def ledger_errors() -> Iterator[None]:
    """Turn every failure of the database into LedgerUnavailable.

    A value or a row that breaks a constraint is our own mistake, and leaves as it is.
    """
    try:
        yield
    except (IntegrityError, DataError):
        raise
    except DBAPIError as exc:
        raise LedgerUnavailable(_message(exc)) from exc
    except PoolTimeout as exc:
        raise LedgerUnavailable(_NO_ANSWER) from exc


def _message(error: DBAPIError) -> str:
    if parameter := refused_parameter(error):
        return (
            f"The pooler in front of the usage ledger refuses the start-up parameter `{parameter}`:"
            " take it out of DATABASE_URL, or name it in PgBouncer's ignore_startup_parameters."
        )
    if _table_missing(error):
        return _NOT_MIGRATED
    return _FILE_FAULTS.get(_sqlite_code(error), _NO_ANSWER)


def _sqlstate(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _repeatable(error: DBAPIError) -> bool:
    return _sqlstate(error) in _REPEATABLE or _sqlite_code(error) == sqlite3.SQLITE_BUSY


def _sqlite_code(error: DBAPIError) -> int:
    """Return SQLite's primary code, the low byte of one of its variants; 0 for no error of its."""
    return (getattr(error.orig, "sqlite_errorcode", 0) or 0) & 0xFF


def _table_missing(error: DBAPIError) -> bool:
    return _sqlstate(error) == _MISSING_TABLE or "no such table" in str(error.orig)


def upgrade(url: str) -> str | None:
    """Bring the database at `url` to the newest schema; when it is there already, do nothing.

    Where a newer version has been at work, nothing is changed either, and the revision returned
    that it left; else None.
    All migrations run in one transaction behind a lock, so several processes may call this at once.
    Raises: LedgerUnavailable, nothing changed.
    """
    engine = create_engine(url)
    try:
        if engine.dialect.name == "sqlite":
            with ledger_errors():
                _use_wal(engine)
        return write(engine, _run_migrations)
    finally:
        engine.dispose()


def _use_wal(engine: Engine) -> None:
    deadline_s = time.monotonic() + BUSY_S
    while True:
        try:
            with engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                return
        except DBAPIError as exc:
            if not _repeatable(exc) or time.monotonic() > deadline_s:
                raise
            pause_s = random.uniform(*PAUSE_S)  # noqa: S311 - no secret
            time.sleep(pause_s)  # SQLite refuses the second of two, and has no wait for it


def _run_migrations(connection: Connection) -> str | None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
        # Who waits for a table keeps all others waiting for it, too: better to fail and be told.
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{MIGRATION_WAIT_S}s'")
    revision = _revision(connection)
    if revision is not None and revision not in _known_revisions():
        _check_tables(connection)
        return revision
    # Here, since it loads every database it knows: 0.2 s that no web process needs to start with.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    # The option goes through configparser, to which % is special.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return None


def _check_tables(connection: Connection) -> None:
    """Raise LedgerUnavailable unless the tables of this version are there."""
    from app.storage.sql.tables import metadata  # noqa: PLC0415 - who migrates knows them in any case

    if missing := set(metadata.tables) - set(sa.inspect(connection).get_table_names()):
        raise LedgerUnavailable(
            f"The database has a revision that this version does not know, and no table"
            f" {min(missing)!r}: it is another program's, or far too new."
        )


def _revision(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table(_REVISION.name):
        return None
    return connection.scalar(sa.select(_REVISION.c.version_num))


def schema_is_current(engine: Engine) -> bool:
    """Say whether every migration that this version knows has run.

    A newer schema counts as current: while a release rolls out, the old version still serves.
    Raises: LedgerUnavailable when the database does not answer.
    """
    with reading(engine) as connection:
        revision = _revision(connection)
    return revision is not None and revision not in _known_revisions()[:-1]


@cache
def _known_revisions() -> tuple[str, ...]:
    """Return the revisions of this version, the newest last: a file's name begins with its own."""
    names = (path.name for path in (MIGRATIONS / "versions").glob("*.py"))
    return tuple(sorted(name.partition("_")[0] for name in names if name[0].isdigit()))
