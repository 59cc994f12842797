"""The ledger's database: transactions, migrations, and its one error."""

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine

from app.settings import ROOT, ConfigError
from app.storage.sql.database import create_engine, reading, schema_is_current, upgrade, write
from app.storage.sql.tables import accounts, metadata
from app.vocabulary.errors import LedgerUnavailable
from tests.support.services.postgres import Postgres

DEADLINE_S = 60.0


def add_account(connection: Connection, account_id: str) -> None:
    connection.execute(
        accounts.insert(), {"account_id": account_id, "name": "", "created_at_ms": 0}
    )


def add(engine: Engine, account_id: str) -> None:
    write(engine, lambda connection: add_account(connection, account_id))


def account_ids(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return list(connection.scalars(sa.select(accounts.c.account_id).order_by(sa.text("1"))))


def test_what_is_written_is_there_for_another_engine(database_url: str, engine: Engine) -> None:
    add(engine, "a")
    other = create_engine(database_url)
    assert account_ids(other) == ["a"]
    other.dispose()


def test_a_write_that_fails_leaves_nothing(engine: Engine) -> None:
    def work(connection: Connection) -> None:
        add_account(connection, "a")
        raise KeyError("our own mistake")

    with pytest.raises(KeyError):
        write(engine, work)
    assert account_ids(engine) == []


def test_text_compares_and_sorts_byte_by_byte(engine: Engine) -> None:
    for account_id in ("b", "a", "A", "é", "B", "a-1"):
        add(engine, account_id)
    assert account_ids(engine) == ["A", "B", "a", "a-1", "b", "é"]


def test_reads_do_not_wait_for_a_write(engine: Engine) -> None:
    def work(connection: Connection) -> list[str]:
        add_account(connection, "a")
        return account_ids(engine)

    assert write(engine, work) == []
    assert account_ids(engine) == ["a"]


def test_writers_in_many_threads_take_turns(engine: Engine) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(add, engine), map(str, range(100))))
    assert len(account_ids(engine)) == 100


def test_sqlite_commits_outlive_a_power_cut(sqlite_url: str) -> None:
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


def test_postgresql_connections_have_limits_that_the_url_may_change(postgres_url: str) -> None:
    engine = create_engine(postgres_url + "&application_name=mine")
    with reading(engine) as connection:
        found = [
            connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in ("application_name", "statement_timeout", "lock_timeout")
        ]
    engine.dispose()
    assert found == ["mine", "30s", "10s"]


def test_a_statement_that_takes_too_long_is_cut_off(postgres_url: str) -> None:
    engine = create_engine(postgres_url + "&options=-c statement_timeout=50")
    with pytest.raises(LedgerUnavailable), reading(engine) as connection:
        connection.execute(sa.select(sa.func.pg_sleep(DEADLINE_S)))
    engine.dispose()


def test_a_deadlock_is_resolved_by_doing_the_loser_again(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    for account_id in ("a", "b"):
        add(engine, account_id)
    both_hold_one = threading.Barrier(2)
    tries = []

    def touch(connection: Connection, account_id: str) -> None:
        row = accounts.c.account_id == account_id
        connection.execute(accounts.update().where(row).values(name="touched"))

    def touch_both(first: str, second: str) -> None:
        def work(connection: Connection) -> None:
            tries.append(first)
            touch(connection, first)
            if len(tries) <= 2:  # not the loser's second try
                both_hold_one.wait(DEADLINE_S)
            touch(connection, second)

        write(engine, work)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(touch_both, ("a", "b"), ("b", "a")))
    engine.dispose()
    assert len(tries) >= 3


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
    monkeypatch.setattr("app.storage.sql.database.BUSY_S", 0.01)
    engine = create_engine(sqlite_url)
    locker = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    locker.isolation_level = None
    locker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable):
        add(engine, "a")
    locker.close()
    engine.dispose()


def test_a_database_without_our_tables_says_so(tmp_path: Path) -> None:
    check_tables_missing(f"sqlite:///{tmp_path / 'new' / 'ledger.db'}")


def test_a_postgresql_without_our_tables_says_so(postgres: Postgres) -> None:
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


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"something else entirely" * 100)
    engine = create_engine(f"sqlite:///{path}")
    with pytest.raises(LedgerUnavailable):
        account_ids(engine)
    engine.dispose()


def test_a_connection_that_the_server_dropped_is_replaced(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    with reading(engine) as connection:
        backend = connection.execute(sa.select(sa.func.pg_backend_pid())).scalar_one()
    other = create_engine(postgres_url)
    with reading(other) as connection:
        connection.execute(sa.select(sa.func.pg_terminate_backend(backend, 10_000)))
    other.dispose()
    assert account_ids(engine) == []
    engine.dispose()


@pytest.mark.parametrize(
    "url",
    ["", "nonsense", "mysql://u:s3cret@h/d", "sqlite://", "sqlite:///:memory:", "postgres://h"],
)
def test_a_url_of_no_use_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        create_engine(url)
    assert "s3cret" not in str(raised.value)


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match="psycopg"):
        create_engine("postgresql+psycopg://u:s3cret@h/d")


def test_a_pool_with_no_free_connection_is_unavailable(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.sql.postgresql.POOL_WAIT_S", 0.01)
    engine = create_engine(postgres_url)
    with ExitStack() as held:
        for _ in range(15):
            held.enter_context(reading(engine))
        with pytest.raises(LedgerUnavailable):
            account_ids(engine)
    assert account_ids(engine) == []
    engine.dispose()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="directory"):
        create_engine(f"sqlite:///{tmp_path / 'file' / 'ledger.db'}")


def test_the_migrations_make_what_the_tables_say(engine: Engine) -> None:
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


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


GREENLETS = """
from gevent import monkey
monkey.patch_all()
import sys, gevent, sqlalchemy as sa
from app.storage.sql.database import create_engine, reading

engine = create_engine(sys.argv[1])
with reading(engine) as holder:
    holder.execute(sa.select(sa.func.pg_advisory_lock(1)))
    def wait():
        with reading(engine) as connection:
            connection.execute(sa.select(sa.func.pg_advisory_lock(1)))
            connection.execute(sa.select(sa.func.pg_advisory_unlock(1)))
    waiting = gevent.spawn(wait)
    lock = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    while not holder.execute(lock).scalar_one():
        gevent.sleep(0.01)
    holder.execute(sa.select(sa.func.pg_advisory_unlock(1)))
waiting.get()
engine.dispose()
print("both done")
"""


def test_greenlets_do_not_wait_for_each_others_queries(postgres_url: str) -> None:
    """A driver that blocked the process would wait for a lock that this very process holds."""
    found = subprocess.run(
        [sys.executable, "-c", GREENLETS, postgres_url],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (found.returncode, found.stdout) == (0, "both done\n"), found.stderr
