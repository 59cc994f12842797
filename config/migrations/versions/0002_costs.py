"""Costs and prices of entries, and costs of rollups.

Safe on a table in use: nullable columns and constant defaults rewrite no rows, and hold their lock
only briefly. Existing entries and rollups stay unpriced until they are re-priced.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns, and the table of prices."""
    op.create_table(
        "prices",
        sa.Column("price_id", BYTEWISE, primary_key=True),
        sa.Column("rates", sa.Text, nullable=False),
    )
    op.add_column("entries", sa.Column("cost_nanousd", sa.BigInteger))
    op.add_column("entries", sa.Column("price_id", BYTEWISE))
    for name in ("cost_nanousd", "priced_requests"):
        op.add_column("rollups", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))


def downgrade() -> None:
    """Drop the columns and the prices."""
    for name in ("priced_requests", "cost_nanousd"):
        op.drop_column("rollups", name)
    for name in ("price_id", "cost_nanousd"):
        op.drop_column("entries", name)
    op.drop_table("prices")
