"""Accounts, API keys, entries and rollups."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

USAGE_COUNTS = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "audio_prompt_tokens",
    "audio_completion_tokens",
    "accepted_prediction_tokens",
    "rejected_prediction_tokens",
)


def upgrade() -> None:
    """Create the tables."""
    _create_accounts()
    _create_entries()
    _create_rollups()


def downgrade() -> None:
    """Drop the tables and their content."""
    for table in ("rollups", "entries", "api_key_accounts", "api_keys", "accounts"):
        op.drop_table(table)


def _create_accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("account_id", BYTEWISE, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "api_keys",
        sa.Column("key_id", BYTEWISE, primary_key=True),
        sa.Column("secret_sha256", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("name", sa.Text),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger),
        sa.Column("revoked_at_ms", sa.BigInteger),
        sa.Column("rotated_from", BYTEWISE, sa.ForeignKey("api_keys.key_id")),
        sa.Column("operation_id", BYTEWISE),
        sa.UniqueConstraint("rotated_from", "operation_id", name="api_keys_one_per_operation"),
    )
    op.create_table(
        "api_key_accounts",
        sa.Column("key_id", BYTEWISE, sa.ForeignKey("api_keys.key_id"), primary_key=True),
        sa.Column("account_id", BYTEWISE, sa.ForeignKey("accounts.account_id"), primary_key=True),
    )


def _create_entries() -> None:
    op.create_table(
        "entries",
        sa.Column("event_id", BYTEWISE, primary_key=True),
        sa.Column("request_id", BYTEWISE, nullable=False),
        sa.Column("account_id", BYTEWISE, nullable=False),
        sa.Column("api_key_id", BYTEWISE, nullable=False),
        sa.Column("user", BYTEWISE),
        sa.Column("vendor", BYTEWISE, nullable=False),
        sa.Column("model", BYTEWISE, nullable=False),
        sa.Column("vendor_served", BYTEWISE),
        sa.Column("model_served", BYTEWISE),
        sa.Column("stream", sa.Boolean, nullable=False),
        sa.Column("status", BYTEWISE, nullable=False),
        sa.Column("source", BYTEWISE, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in USAGE_COUNTS),
        sa.Column("vendor_request_id", BYTEWISE),
        sa.Column("http_status", sa.BigInteger),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("client_retry_count", sa.BigInteger, nullable=False),
        sa.Column("started_at_ms", sa.BigInteger, nullable=False),
        sa.Column("first_token_ms", sa.BigInteger),
        sa.Column("duration_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("entries_by_account_and_time", "entries", ["account_id", "started_at_ms"])
    op.create_index("entries_by_time", "entries", ["started_at_ms"])


def _create_rollups() -> None:
    measures = ("requests", "failed_requests", "estimated_requests", *USAGE_COUNTS)
    op.create_table(
        "rollups",
        sa.Column("account_id", BYTEWISE, primary_key=True),
        sa.Column("slot_s", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("api_key_id", BYTEWISE, primary_key=True),
        sa.Column("vendor", BYTEWISE, primary_key=True),
        sa.Column("model", BYTEWISE, primary_key=True),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in measures),
        sqlite_with_rowid=False,
    )
