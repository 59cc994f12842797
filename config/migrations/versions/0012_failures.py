"""Why a request failed: columns for its error and its vendor calls, and indexes for its ids.

Safe on a ledger in use. On PostgreSQL, `prepared` first builds the indexes of each partition
concurrently, which no post or read waits for; the migration itself then takes milliseconds. Workers
of the previous version continue to post, and leave the columns null.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Connection, Engine

revision = "0012"
down_revision = "0011"

#: Index -> its column.
INDEXES = {
    "entries_by_request_id": "request_id",
    "entries_by_vendor_request_id": "vendor_request_id",
}

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


@contextmanager
def prepared(engine: Engine) -> Iterator[None]:
    """Build the indexes of the entries' partitions; those of a failed migration stay.

    Creating an index on the partitioned table then adopts them.
    """
    if engine.dialect.name == "postgresql":
        with engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            for partition in _partitions(connection):
                for column in INDEXES.values():
                    _build(connection, partition, column)
    yield


def upgrade() -> None:
    """Add the columns and create the indexes."""
    op.add_column("entries", sa.Column("error_code", BYTEWISE))
    op.add_column("entries", sa.Column("error_message", sa.Text))
    op.add_column("entries", sa.Column("attempt_log", sa.Text))
    for name, column in INDEXES.items():
        op.create_index(name, "entries", [column])


def downgrade() -> None:
    """Drop both."""
    for name in INDEXES:
        op.drop_index(name, "entries")
    for column in ("error_code", "error_message", "attempt_log"):
        op.drop_column("entries", column)


def _partitions(connection: Connection) -> list[str]:
    """Return the tables with rows of entries; before migration 0010, that is `entries` itself."""
    found = connection.scalars(
        sa.text(
            "SELECT CAST(CAST(relid AS regclass) AS text)"
            " FROM pg_partition_tree(to_regclass('entries')) WHERE isleaf"
        )
    ).all()
    return list(found) or ["entries"]


def _build(connection: Connection, partition: str, column: str) -> None:
    """Build one index, unless an earlier attempt has; of one that broke off, drop the rest."""
    name = f"{partition}_{column}_idx"
    is_valid = connection.scalar(
        sa.text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)"),
        {"name": name},
    )
    if is_valid:
        return
    connection.execute(sa.text(f"DROP INDEX CONCURRENTLY IF EXISTS {name}"))
    connection.execute(sa.text(f"CREATE INDEX CONCURRENTLY {name} ON {partition} ({column})"))
