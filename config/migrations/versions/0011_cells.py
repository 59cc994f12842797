"""How far each cell's usage is complete, as its workers record it.

A new table only: the previous version neither writes nor reads it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "cells",
        sa.Column("cell_id", BYTEWISE, primary_key=True),
        sa.Column("complete_until_ms", sa.BigInteger, nullable=False),
        sa.Column("written_at_ms", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("cells")
