"""Requests that were refused before any vendor was called, counted by hour.

New tables only: the previous version neither writes nor reads them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "refusals",
        sa.Column("hour_s", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("account_id", BYTEWISE, primary_key=True),
        sa.Column("api_key_id", BYTEWISE, primary_key=True),
        sa.Column("endpoint", BYTEWISE, primary_key=True),
        sa.Column("reason", BYTEWISE, primary_key=True),
        sa.Column("requests", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "refusal_batches",
        sa.Column("batch_id", BYTEWISE, primary_key=True),
        sa.Column("posted_at_ms", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("refusal_batches")
    op.drop_table("refusals")
