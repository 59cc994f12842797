"""Sessions of the dashboard."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "sessions",
        sa.Column("token_sha256", sa.LargeBinary, primary_key=True),
        sa.Column("key_id", BYTEWISE, sa.ForeignKey("api_keys.key_id"), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop the table; all users must sign in again."""
    op.drop_table("sessions")
