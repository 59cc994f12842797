"""The numbers of requests that the ledger has of each process.

Safe on a ledger in use: it adds a table. Workers of the version before continue to post, without
noting numbers; the web processes' journals send those events again, which notes them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "processes",
        sa.Column("process", BYTEWISE, primary_key=True),
        sa.Column("given", sa.BigInteger, nullable=False),
        sa.Column("posted", sa.Text, nullable=False),
        sa.Column("written_off", sa.BigInteger, nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
        sa.Column("seen_ms", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop the table; missing events can no longer be told."""
    op.drop_table("processes")
