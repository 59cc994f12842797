"""Engines on SQLite, whose file several processes share."""

import sqlite3
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL

from app.settings import ConfigError

#: How long a connection waits for another process's write.
BUSY_S = 10.0


def sqlite_engine(url: URL) -> Engine:
    """Return an engine, without connecting; the file's directory is created if it is missing.

    Raises: ConfigError when the URL names no file, or the directory cannot be created.
    """
    if url.database in {None, "", ":memory:"}:
        raise ConfigError("DATABASE_URL names no file; several processes share the ledger")
    directory = Path(str(url.database)).parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ConfigError(f"cannot create the ledger's directory {directory}: {exc}") from exc
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_S})
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _set_up(connection: sqlite3.Connection, _record: object) -> None:
    # The driver's own rules begin a transaction too late for a read before a write.
    connection.isolation_level = None
    # FULL: an event leaves Redis once it is committed here, so a commit must survive a power
    # failure. WAL is a property of the file, which `migrations.upgrade` sets.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("isolation_level") == "AUTOCOMMIT":
        return
    # A transaction that reads before it writes fails if another one writes in between, so a
    # transaction that writes takes SQLite's write lock at its beginning.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")
