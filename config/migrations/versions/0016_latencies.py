"""How requests ended and how long they took, by hour and day.

New tables only. The workers compute the hours of entries that are in the ledger already, the newest
first. What the previous version posts afterwards to an hour that is computed by then is added by
`tollgate reconcile --rebuild`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables, and name the hours that are to be computed."""
    op.create_table(
        "latencies",
        sa.Column("width_s", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("slot_s", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("account_id", BYTEWISE, primary_key=True),
        sa.Column("api_key_id", BYTEWISE, primary_key=True),
        sa.Column("vendor", BYTEWISE, primary_key=True),
        sa.Column("model", BYTEWISE, primary_key=True),
        sa.Column("vendor_served", BYTEWISE, primary_key=True),
        sa.Column("status", BYTEWISE, primary_key=True),
        sa.Column("http_status", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("requests", sa.BigInteger, nullable=False),
        sa.Column("first_token", sa.Text, nullable=False),
        sa.Column("duration", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "latency_hours",
        sa.Column("hour_s", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("posts", sa.BigInteger, nullable=False),
        sa.Column("computed", sa.BigInteger, nullable=False),
    )
    op.execute(
        "INSERT INTO latency_hours (hour_s, posts, computed)"
        " SELECT DISTINCT slot_s, 1, 0 FROM rollups_by_hour"
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("latency_hours")
    op.drop_table("latencies")
