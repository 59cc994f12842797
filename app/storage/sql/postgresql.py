"""Engines on PostgreSQL, asked directly or through a pooler of transactions (PgBouncer).

A pooler gives each transaction to whichever session is free. So what we need of a session is set
within each transaction; nothing is prepared in one, and none is asked for settings at its start.
"""

import re
from collections.abc import Callable, Mapping

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError

#: How long a thread waits for a free connection.
POOL_WAIT_S = 5.0

#: Defaults of a connection; the same name in the URL's query wins. All but the first stay here.
CONNECTION_DEFAULTS: Mapping[str, str] = {
    "application_name": "tollgate",
    "connect_timeout": "5",
    # A peer that vanished without a word is found out within this, in milliseconds.
    "tcp_user_timeout": "30000",
}

#: Of each transaction, unless the URL's `options` have the setting. An event leaves Redis once it
#: is committed here, so a commit outlives a crash of the server.
TRANSACTION_SETTINGS: Mapping[str, str] = {
    "synchronous_commit": "on",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
}

_READ_ONLY = "25006"
_REFUSED = re.compile(r"unsupported startup parameter(?: in options)?: (\w+)")


def postgresql_engine(url: URL) -> Engine:
    """Return an engine; nothing is connected yet."""
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg", query={**CONNECTION_DEFAULTS, **url.query}),
        # Else psycopg prepares what is asked often, for a session that the next query may not get.
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


def refused_parameter(error: DBAPIError) -> str | None:
    """Return the start-up parameter for which a pooler refused to connect, if that is the error."""
    found = _REFUSED.search(str(error.orig))
    return found[1] if found else None


def _setting_up(settings: Mapping[str, str]) -> Callable[[Connection], None]:
    """Return what begins a transaction with settings that end with it."""
    calls = ", ".join(f"set_config('{name}', '{it}', true)" for name, it in settings.items())

    def set_up(connection: Connection) -> None:
        if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql(f"SELECT {calls}")  # one statement, so one round trip

    return set_up


def _drop_stale_primary(context: ExceptionContext) -> None:
    """Have the pool connect anew where a server only reads: after a failover, it is the old one."""
    if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
        context.is_disconnect = True
