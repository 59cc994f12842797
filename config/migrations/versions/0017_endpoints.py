"""The endpoint of each request, sums by endpoint, and the counts that chat adds.

Also the rates that these counts are charged by. Adds only, and reads no row: all requests so far
were text completions, as the default says. Workers of the previous version go on to post. What they
post has no endpoint, so it is completions; what they change of a chat request (a re-pricing, a true
event for an estimate) is wrong in the sums by endpoint until `tollgate reconcile --rebuild`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

KEY = ("account_id", "slot_s", "api_key_id", "vendor", "model", "endpoint")
COUNTS = (
    "image_prompt_tokens",
    "image_completion_tokens",
    "cache_write_1h_tokens",
    "web_search_calls",
)
MEASURES = (
    "requests",
    "failed_requests",
    "estimated_requests",
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
    *COUNTS,
    "cost_nanousd",
    "priced_requests",
    "empty_requests",
)
TOTALS = ("rollups", "rollups_by_hour", "daily_rollups")


def upgrade() -> None:
    """Add the columns, and create the tables."""
    op.add_column(
        "entries", sa.Column("endpoint", BYTEWISE, nullable=False, server_default="completions")
    )
    for table in ("entries", *TOTALS):
        for name in COUNTS:
            op.add_column(table, sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    for table in TOTALS:
        _create(f"endpoint_{table}")
    op.add_column("prices", sa.Column("later_rates", sa.Text))


def _create(table: str) -> None:
    op.create_table(
        table,
        *(
            sa.Column(
                name,
                sa.BigInteger if name == "slot_s" else BYTEWISE,
                primary_key=True,
                autoincrement=False,
            )
            for name in KEY
        ),
        *(sa.Column(name, sa.BigInteger, nullable=False, server_default="0") for name in MEASURES),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Drop them: afterwards, chat counts as text completions."""
    op.drop_column("prices", "later_rates")
    for table in TOTALS:
        op.drop_table(f"endpoint_{table}")
    for table in ("entries", *TOTALS):
        for name in COUNTS:
            op.drop_column(table, name)
    op.drop_column("entries", "endpoint")
