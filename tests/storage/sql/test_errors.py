"""The database's errors as LedgerUnavailable."""

import sqlite3

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from app.storage.sql.engine import create_engine
from app.storage.sql.errors import is_retryable, ledger_errors
from app.storage.sql.migrations import schema_is_current, upgrade
from app.storage.sql.tables import audit
from app.storage.sql.transactions import write
from app.vocabulary.errors import LedgerUnavailable
from tests.storage.sql.account_rows import account_ids, add


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://u:s3cret@127.0.0.1:1/db",
        "postgresql+psycopg://u:s3cret@/db?host=/nowhere",
        "postgresql+psycopg://u:s3cret@tollgate.invalid/db",
    ],
)
def test_a_server_that_is_not_there_is_unavailable(url: str) -> None:
    engine = create_engine(url)
    with pytest.raises(LedgerUnavailable) as raised:
        account_ids(engine)
    with pytest.raises(LedgerUnavailable):
        schema_is_current(engine)
    with pytest.raises(LedgerUnavailable):
        upgrade(url)
    assert "s3cret" not in repr(raised.value.body())
    engine.dispose()


def test_a_row_that_breaks_a_constraint_is_not_an_outage(engine: Engine) -> None:
    add(engine, "a")
    with pytest.raises(IntegrityError):
        add(engine, "a")


def sqlite_error(code: int) -> DBAPIError:
    cause = sqlite3.OperationalError("something with a path in it")
    cause.sqlite_errorcode = code
    return OperationalError("SELECT 1", {}, cause)


class Canceled(Exception):
    """PostgreSQL's error of a statement that runs into its time limit."""

    sqlstate = "57014"


def test_a_statement_that_took_too_long_is_no_outage() -> None:
    with pytest.raises(LedgerUnavailable, match="did not answer in time"), ledger_errors():
        raise OperationalError("SELECT 1", {}, Canceled())


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (sqlite3.SQLITE_CANTOPEN, "cannot be opened"),
        (sqlite3.SQLITE_READONLY, "read-only"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "read-only"),
        (sqlite3.SQLITE_FULL, "disk of the usage ledger is full"),
        (sqlite3.SQLITE_CORRUPT, "unavailable"),
    ],
)
def test_a_fault_of_the_file_is_named_without_its_path(code: int, message: str) -> None:
    with pytest.raises(LedgerUnavailable, match=message) as raised, ledger_errors():
        raise sqlite_error(code)
    assert "path" not in raised.value.message


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        (sqlite3.SQLITE_BUSY, True),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, True),
        (sqlite3.SQLITE_LOCKED, False),
        (sqlite3.SQLITE_FULL, False),
    ],
)
def test_a_locked_file_may_be_tried_again(code: int, retryable: bool) -> None:
    assert is_retryable(sqlite_error(code)) is retryable


@pytest.mark.parametrize(
    ("state", "retryable"), [("40001", True), ("40P01", True), ("57014", False), (None, False)]
)
def test_a_deadlock_and_a_serialization_failure_may_be_tried_again(
    state: str | None, retryable: bool
) -> None:
    class Failed(Exception):
        sqlstate = state

    assert is_retryable(DBAPIError("SELECT 1", {}, Failed())) is retryable


def test_a_parameter_that_a_pooler_rejects_is_named_with_what_to_do() -> None:
    cause = Exception("FATAL:  unsupported startup parameter in options: statement_timeout")
    wanted = "`statement_timeout`: remove it"
    with pytest.raises(LedgerUnavailable, match=wanted) as raised, ledger_errors():
        raise DBAPIError("SELECT 1", {}, cause)
    assert "ignore_startup_parameters" in raised.value.message


def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(KeyError), ledger_errors():
        raise KeyError("our own mistake")


@pytest.mark.parametrize("change", ["ALTER TABLE audit DROP COLUMN detail", "DROP TABLE audit"])
def test_a_schema_of_an_older_version_is_named(engine: Engine, change: str) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(sa.text(change))
    row = {"at_ms": 1, "actor": "a", "channel": "cli", "action": "x", "account_ids": ""}
    insert = audit.insert().values(**row, detail="{}")
    with pytest.raises(LedgerUnavailable, match="schema is not up to date"):
        write(engine, lambda connection: connection.execute(sa.select(audit)))
    with pytest.raises(LedgerUnavailable, match="schema is not up to date"):
        write(engine, lambda connection: connection.execute(insert))
