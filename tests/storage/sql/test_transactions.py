"""Transactions on both databases."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from app.storage.sql.engine import create_engine
from app.storage.sql.tables import accounts
from app.storage.sql.transactions import ATTEMPTS, insert, write
from app.vocabulary.errors import LedgerUnavailable
from tests.storage.sql.account_rows import DEADLINE_S, account_ids, add, add_account


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


def test_the_loser_of_a_deadlock_runs_again(postgres_url: str) -> None:
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


def busy(attempts: int, tries: list[int]) -> Callable[[Connection], str]:
    """Return work that finds the database busy at its first `attempts` attempts."""

    def work(connection: Connection) -> str:
        tries.append(len(tries))
        add_account(connection, f"a{len(tries)}")
        if len(tries) <= attempts:
            cause = sqlite3.OperationalError("busy")
            cause.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise OperationalError("SELECT 1", {}, cause)
        return "done"

    return work


def test_a_conflict_rolls_back_and_runs_the_work_again(engine: Engine) -> None:
    tries: list[int] = []
    assert write(engine, busy(ATTEMPTS - 1, tries)) == "done"
    assert len(tries) == ATTEMPTS
    assert account_ids(engine) == [f"a{ATTEMPTS}"]


def test_a_conflict_that_stays_is_unavailable_after_the_last_attempt(engine: Engine) -> None:
    tries: list[int] = []
    with pytest.raises(LedgerUnavailable):
        write(engine, busy(ATTEMPTS, tries))
    assert len(tries) == ATTEMPTS
    assert account_ids(engine) == []


def test_an_insert_supports_on_conflict_in_each_dialect(engine: Engine) -> None:
    row = {"account_id": "a", "name": "", "created_at_ms": 0}

    def work(connection: Connection) -> None:
        for _ in range(2):
            connection.execute(insert(connection, accounts).on_conflict_do_nothing(), row)

    write(engine, work)
    assert account_ids(engine) == ["a"]
