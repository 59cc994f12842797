"""Accounts can be described and disabled, keys are found by their first characters, and an audit.

New tables and nullable columns only: the previous version neither writes nor reads them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns and create the table."""
    op.add_column("accounts", sa.Column("description", sa.Text))
    op.add_column("accounts", sa.Column("disabled_at_ms", sa.BigInteger))
    op.add_column("api_keys", sa.Column("last_used_at_ms", sa.BigInteger))
    op.add_column("api_keys", sa.Column("secret_prefix", BYTEWISE))
    op.add_column("api_keys", sa.Column("retired_at_ms", sa.BigInteger))
    op.create_table(
        "audit",
        sa.Column(
            "audit_id",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("actor", BYTEWISE, nullable=False),
        sa.Column("channel", BYTEWISE, nullable=False),
        sa.Column("action", BYTEWISE, nullable=False),
        sa.Column("account_ids", BYTEWISE, nullable=False),
        sa.Column("api_key_id", BYTEWISE),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("operation_id", BYTEWISE, unique=True),
    )
    op.create_index("audit_by_time", "audit", ["at_ms"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("audit")
    op.drop_column("api_keys", "retired_at_ms")
    op.drop_column("api_keys", "secret_prefix")
    op.drop_column("api_keys", "last_used_at_ms")
    op.drop_column("accounts", "disabled_at_ms")
    op.drop_column("accounts", "description")
