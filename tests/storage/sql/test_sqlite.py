"""Engines on SQLite."""

import sqlite3
import threading
from pathlib import Path

import pytest

from app.settings import ConfigError
from app.storage.sql.engine import create_engine
from app.storage.sql.transactions import reading
from app.vocabulary.errors import LedgerUnavailable
from tests.storage.sql.account_rows import account_ids, add


def test_sqlite_commits_survive_a_power_failure(sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    with reading(engine) as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
    }


def test_a_locked_sqlite_file_is_waited_for(sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    locker = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), check_same_thread=False)
    locker.isolation_level = None
    locker.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, locker.execute, ["COMMIT"])
    release.start()
    add(engine, "a")
    release.join()
    locker.close()
    assert account_ids(engine) == ["a"]
    engine.dispose()


def test_a_sqlite_file_that_stays_locked_is_unavailable(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.sql.sqlite.BUSY_S", 0.01)
    engine = create_engine(sqlite_url)
    locker = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    locker.isolation_level = None
    locker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable):
        add(engine, "a")
    locker.close()
    engine.dispose()


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"something else entirely" * 100)
    engine = create_engine(f"sqlite:///{path}")
    with pytest.raises(LedgerUnavailable):
        account_ids(engine)
    engine.dispose()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="directory"):
        create_engine(f"sqlite:///{tmp_path / 'file' / 'ledger.db'}")
