"""Calls, service tiers and sources of entries; empty requests of rollups; corrections of costs.

Safe on a table in use: nullable columns and constant defaults rewrite no rows, and hold their lock
only briefly. Workers of the previous version continue to post, without the new columns.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

OF_ENTRIES = ("service_tier", "prompt_source", "completion_source")
ROLLUPS = ("rollups", "rollups_by_hour", "daily_rollups")
KEY = ("account_id", "api_key_id")


def upgrade() -> None:
    """Add the columns, and the table of corrections."""
    for name in OF_ENTRIES:
        op.add_column("entries", sa.Column(name, BYTEWISE))
    op.add_column("entries", sa.Column("calls", sa.Text))
    for table in ROLLUPS:
        empty = sa.Column("empty_requests", sa.BigInteger, nullable=False, server_default="0")
        op.add_column(table, empty)
    op.create_table(
        "corrections",
        *(sa.Column(name, BYTEWISE, primary_key=True) for name in KEY),
        sa.Column("day_s", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("corrected_requests", sa.BigInteger, nullable=False),
        sa.Column("added_nanousd", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Drop the columns and the table; the usage of each call is lost."""
    op.drop_table("corrections")
    for table in ROLLUPS:
        op.drop_column(table, "empty_requests")
    for name in (*OF_ENTRIES, "calls"):
        op.drop_column("entries", name)
