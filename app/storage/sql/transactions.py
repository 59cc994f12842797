"""Transactions on the ledger's database: reads, and writes that run again after a conflict.

Does not depend on any table.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from app.storage.sql.errors import is_retryable, ledger_errors

T = TypeVar("T")
Insert = postgresql.Insert | sqlite.Insert

#: Attempts at a transaction that fails with a retryable error.
ATTEMPTS = 3
#: Shortest and longest pause before a retry, in seconds.
PAUSE_S = (0.02, 0.1)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction that only reads.

    Raises: LedgerUnavailable.
    """
    with ledger_errors(), engine.connect() as connection, connection.begin():
        yield connection


def write(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run `work` in one transaction, commit it and return its result.

    Repeats: after a deadlock, a serialization failure or a locked SQLite file, the transaction is
    rolled back and `work` runs again, up to ATTEMPTS times in all. `work` must change nothing
    outside the database.
    Raises: LedgerUnavailable, nothing written, unless the connection broke during the commit.
    """
    with ledger_errors():
        for _ in range(ATTEMPTS - 1):
            try:
                return _write_once(engine, work)
            except DBAPIError as exc:
                if not is_retryable(exc):
                    raise
            pause()  # an immediate retry would compete with the transaction that won
        return _write_once(engine, work)


def pause() -> None:
    """Wait for a random time within PAUSE_S."""
    pause_s = random.uniform(*PAUSE_S)  # noqa: S311 - no secret
    time.sleep(pause_s)  # lets the transaction that won finish; ATTEMPTS bounds the retries


def insert(connection: Connection, table: Table) -> Insert:
    """Return an INSERT in the connection's dialect, which supports ON CONFLICT."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


def _write_once(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.execution_options(writes=True).begin() as connection:
        return work(connection)
