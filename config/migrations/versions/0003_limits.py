"""Limits of accounts and keys."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    numbers = ("requests_per_minute", "tokens_per_minute", "streams")
    money = ("budget_nanousd", "soft_nanousd")
    op.create_table(
        "limits",
        sa.Column("kind", BYTEWISE, primary_key=True),
        sa.Column("subject_id", BYTEWISE, primary_key=True),
        *(sa.Column(name, sa.BigInteger) for name in numbers + money),
        sa.Column("period", BYTEWISE, nullable=False),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("limits")
