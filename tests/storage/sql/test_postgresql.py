"""Engines on PostgreSQL."""

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest
import sqlalchemy as sa

from app.settings import ROOT
from app.storage.sql.engine import create_engine
from app.storage.sql.transactions import reading
from app.vocabulary.errors import LedgerUnavailable
from tests.storage.sql.account_rows import DEADLINE_S, account_ids


def test_postgresql_connections_have_limits_that_the_url_may_change(postgres_url: str) -> None:
    engine = create_engine(postgres_url + "&application_name=mine")
    with reading(engine) as connection:
        found = [
            connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in ("application_name", "statement_timeout", "lock_timeout")
        ]
    engine.dispose()
    assert found == ["mine", "30s", "10s"]


def test_a_statement_that_takes_too_long_is_cancelled(postgres_url: str) -> None:
    engine = create_engine(postgres_url + "&options=-c statement_timeout=50")
    with pytest.raises(LedgerUnavailable), reading(engine) as connection:
        connection.execute(sa.select(sa.func.pg_sleep(DEADLINE_S)))
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


GREENLETS = """
from gevent import monkey
monkey.patch_all()
import sys, gevent, sqlalchemy as sa
from app.storage.sql.engine import create_engine
from app.storage.sql.transactions import reading

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
