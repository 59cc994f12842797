"""The migration that adds the failures of requests, and indexes for their ids, to a ledger in use.

Its indexes of a large table take minutes: posts must not wait for them.
"""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic import command
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from app.ledger.posting import Ledger
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import schema_is_current, upgrade
from app.storage.sql.transactions import reading
from tests.storage.sql.older import add_entries, entries_in
from tests.storage.sql.test_partitioning import scalars, step, url_of
from tests.support.events import usage_event
from tests.support.services.postgres import Postgres

INDEXES = ("entries_by_request_id", "entries_by_vendor_request_id")


@pytest.fixture(params=["0009", "0011"])
def old(request: pytest.FixtureRequest, postgres: Postgres) -> Iterator[Engine]:
    """A ledger before and after its entries were partitioned, with some entries."""
    url = postgres.create("template0")
    engine = create_engine(url)
    step(engine, command.upgrade, request.param)
    add_entries(engine, [usage_event() for _ in range(20)])
    yield engine
    engine.dispose()
    postgres.drop(url)


def test_the_migration_adopts_indexes_that_were_built_before_it(old: Engine) -> None:
    kept = entries_in(old)
    upgrade(url_of(old))
    assert entries_in(old, kept[0]) == kept
    assert set(are_valid(old).values()) == {True}
    assert Ledger(old).post([usage_event(error_code="vendor_failed")]) == 1
    # Each partition has one index of each kind, and the rows were indexed before the migration.
    statement = (
        "SELECT count(*) FROM pg_indexes WHERE tablename = 'entries_initial'"
        " AND indexdef LIKE '%request_id)'"
    )
    assert scalars(old, statement) == [2]


def are_valid(engine: Engine) -> dict[str, bool]:
    """Return whether each index of the partitioned table covers all partitions."""
    statement = sa.text(
        "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " WHERE relname = ANY(:names)"
    )
    with reading(engine) as connection:
        rows = connection.execute(statement, {"names": list(INDEXES)}).all()
    assert {name for name, _ in rows} == set(INDEXES)
    return {name: valid for name, valid in rows}


def test_an_index_whose_building_broke_off_is_built_again(old: Engine) -> None:
    table = "entries_initial" if len(scalars(old, TREE)) > 1 else "entries"
    with old.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("SET statement_timeout = 1"))
        with pytest.raises(DBAPIError):
            connection.execute(
                sa.text(
                    f"CREATE INDEX CONCURRENTLY {table}_request_id_idx ON {table}"
                    " ((CAST(pg_sleep(0.01) AS text) || request_id))"
                )
            )
        connection.invalidate()
    upgrade(url_of(old))
    assert schema_is_current(old)
    assert set(are_valid(old).values()) == {True}


TREE = "SELECT relid FROM pg_partition_tree(to_regclass('entries'))"
