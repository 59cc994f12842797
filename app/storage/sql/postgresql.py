"""Engines on PostgreSQL, directly or through a transaction pooler (PgBouncer).

A pooler may give each transaction another session. So settings are made in each transaction, no
statement is prepared, and connections start without session settings.
"""

import re
from collections.abc import Callable, Mapping

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError

#: How long a thread waits for a free connection.
POOL_WAIT_S = 5.0

#: Defaults of a connection; parameters in the URL have priority. Only the first one is sent to the
#: server.
CONNECTION_DEFAULTS: Mapping[str, str] = {
    "application_name": "tollgate",
    "connect_timeout": "5",
    # The longest time in which a lost peer goes unnoticed, in milliseconds.
    "tcp_user_timeout": "30000",
}

#: Settings of each transaction, unless the URL's `options` contain them. An event leaves Redis once
#: it is committed here, so a commit must survive a crash of the server.
TRANSACTION_SETTINGS: Mapping[str, str] = {
    "synchronous_commit": "on",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
}

_READ_ONLY = "25006"
_REJECTED = re.compile(r"unsupported startup parameter(?: in options)?: (\w+)")


def postgresql_engine(url: URL) -> Engine:
    """Return an engine, without connecting."""
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg", query={**CONNECTION_DEFAULTS, **url.query}),
        # Otherwise psycopg prepares frequent statements, in a session that the pooler may change.
        connect_args={"prepare_threshold": None},
        pool_pre_ping=True,
        pool_timeout=POOL_WAIT_S,
    )
    event.listen(engine, "handle_error", _drop_stale_primary)
    options = str(url.query.get("options", ""))
    ours = {name: it for name, it in TRANSACTION_SETTINGS.items() if name not in options}
    if ours:
        event.listen(engine, "begin", _setting_up(ours))
    return engine


def rejected_parameter(error: DBAPIError) -> str | None:
    """Return the startup parameter that a pooler rejected; None if the error is another one."""
    found = _REJECTED.search(str(error.orig))
    return found[1] if found else None


def without_time_limit(connection: Connection) -> None:
    """Let the statements of this transaction take as long as they need; a no-op on SQLite."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")


def _setting_up(settings: Mapping[str, str]) -> Callable[[Connection], None]:
    """Return a listener that makes settings for the transaction that begins."""
    calls = ", ".join(f"set_config('{name}', '{it}', true)" for name, it in settings.items())

    def set_up(connection: Connection) -> None:
        if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql(f"SELECT {calls}")  # one statement, so one round trip

    return set_up


def _drop_stale_primary(context: ExceptionContext) -> None:
    """Drop the pool's connections to a read-only server, which is a former primary."""
    if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
        context.is_disconnect = True
