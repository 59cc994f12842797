"""A request's calls, its service tier, and whose count each side of it is; how many requests used
nothing; corrections of what was spent.

Safe on a live table: columns that may be null, or have a constant default, rewrite no row and take
their lock for a moment. Workers of the version before post on, without them.
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
    """Drop them; what each call of a request used is lost."""
    op.drop_table("corrections")
    for table in ROLLUPS:
        op.drop_column(table, "empty_requests")
    for name in (*OF_ENTRIES, "calls"):
        op.drop_column("entries", name)
