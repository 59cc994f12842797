"""Bringing a database to the newest schema."""

import multiprocessing
import threading
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import schema_is_current, upgrade
from app.storage.sql.transactions import write
from app.vocabulary.errors import LedgerUnavailable
from tests.storage.sql.account_rows import DEADLINE_S, account_ids, add
from tests.support.services.postgres import Postgres


def test_a_sqlite_file_without_tables_is_not_up_to_date(tmp_path: Path) -> None:
    check_tables_missing(f"sqlite:///{tmp_path / 'new' / 'ledger.db'}")


def test_a_postgresql_without_tables_is_not_up_to_date(postgres: Postgres) -> None:
    url = postgres.create("template0")
    check_tables_missing(url)
    postgres.drop(url)


def check_tables_missing(url: str) -> None:
    engine = create_engine(url)
    with pytest.raises(LedgerUnavailable, match="schema is not up to date"):
        account_ids(engine)
    assert not schema_is_current(engine)
    upgrade(url)
    assert schema_is_current(engine)
    engine.dispose()


def test_upgrading_twice_keeps_what_is_there(database_url: str, engine: Engine) -> None:
    add(engine, "a")
    upgrade(database_url)
    assert account_ids(engine) == ["a"]


def upgrade_at_once(url: str, ready: "threading.Barrier") -> None:
    ready.wait(DEADLINE_S)
    upgrade(url)


def test_several_processes_may_upgrade_a_new_sqlite_file_at_once(tmp_path: Path) -> None:
    check_upgrades_at_once(f"sqlite:///{tmp_path / 'ledger.db'}")


def test_several_processes_may_upgrade_a_new_postgresql_at_once(postgres: Postgres) -> None:
    url = postgres.create("template0")
    check_upgrades_at_once(url)
    postgres.drop(url)


def check_upgrades_at_once(url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Barrier(4)
    processes = [spawn.Process(target=upgrade_at_once, args=(url, ready)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(DEADLINE_S)
    assert [process.exitcode for process in processes] == [0] * 4
    engine = create_engine(url)
    assert schema_is_current(engine)
    engine.dispose()


def test_a_newer_schema_counts_as_current(engine: Engine) -> None:
    assert schema_is_current(engine)
    write(
        engine,
        lambda connection: connection.exec_driver_sql(
            "UPDATE alembic_version SET version_num = 'x'"
        ),
    )
    assert schema_is_current(engine)
