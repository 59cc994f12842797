"""The only place that translates the database's errors, into LedgerUnavailable."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.storage.sql.postgresql import rejected_parameter
from app.vocabulary.errors import LedgerUnavailable

_NOT_IN_SCHEMA = frozenset({"42P01", "42703"})  # a table, a column
_RETRYABLE = frozenset({"40001", "40P01"})  # serialization failure, deadlock
_CANCELED = "57014"  # by `statement_timeout`
_LOCK_TIMEOUT = "55P03"
_CHECK_VIOLATION = "23514"
_UNAVAILABLE = "The usage ledger is unavailable."
_TOO_SLOW = "The usage ledger did not answer in time."
_FILE_ERRORS = {
    sqlite3.SQLITE_CANTOPEN: (
        "The usage ledger's file cannot be opened: check its directory's permissions."
    ),
    sqlite3.SQLITE_READONLY: "The usage ledger's file is read-only: check its owner and mode.",
    sqlite3.SQLITE_FULL: "The disk of the usage ledger is full.",
}
_NOT_MIGRATED = "The usage ledger's schema is not up to date."


@contextmanager
def ledger_errors() -> Iterator[None]:
    """Raise LedgerUnavailable for each failure of the database in this block.

    IntegrityError and DataError pass unchanged: an invalid value is Tollgate's own mistake.
    """
    try:
        yield
    except (IntegrityError, DataError):
        raise
    except DBAPIError as exc:
        raise LedgerUnavailable(_message(exc)) from exc
    except PoolTimeout as exc:
        raise LedgerUnavailable(_UNAVAILABLE) from exc


def is_retryable(error: DBAPIError) -> bool:
    """Return whether the same transaction may succeed if it runs again.

    That is so after a deadlock, a serialization failure, a locked SQLite file, or if a row's
    partition was created in the meantime.
    """
    is_busy = _sqlite_code(error) == sqlite3.SQLITE_BUSY
    return _sqlstate(error) in _RETRYABLE or is_busy or _is_outside_partition(error)


def _is_outside_partition(error: DBAPIError) -> bool:
    """Return whether a row violates a partition's bounds: a check that has no name."""
    if _sqlstate(error) != _CHECK_VIOLATION:
        return False
    diagnostics: Any = getattr(error.orig, "diag", None)
    return getattr(diagnostics, "constraint_name", None) is None


def is_lock_timeout(error: LedgerUnavailable) -> bool:
    """Return whether a table or a row was in use for longer than `lock_timeout`."""
    return isinstance(error.__cause__, DBAPIError) and _sqlstate(error.__cause__) == _LOCK_TIMEOUT


def _message(error: DBAPIError) -> str:
    if parameter := rejected_parameter(error):
        return (
            f"The pooler of the usage ledger rejects the startup parameter `{parameter}`:"
            " remove it from DATABASE_URL, or add it to PgBouncer's ignore_startup_parameters."
        )
    if _sqlstate(error) == _CANCELED:
        return _TOO_SLOW
    if _is_missing_in_schema(error):
        return _NOT_MIGRATED
    return _FILE_ERRORS.get(_sqlite_code(error), _UNAVAILABLE)


def _sqlstate(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _sqlite_code(error: DBAPIError) -> int:
    """Return SQLite's primary code, the low byte of an extended one; 0 for another driver."""
    return (getattr(error.orig, "sqlite_errorcode", 0) or 0) & 0xFF


def _is_missing_in_schema(error: DBAPIError) -> bool:
    text = str(error.orig)
    is_in_sqlite = "no such table" in text or "no such column" in text or "has no column" in text
    return _sqlstate(error) in _NOT_IN_SCHEMA or is_in_sqlite
