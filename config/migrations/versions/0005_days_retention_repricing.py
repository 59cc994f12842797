"""Daily rollups, the time up to which entries were pruned, and records of re-pricings.

Workers of the previous version do not update daily rollups: `tollgate reconcile --rebuild` adds
what they post after this migration. If workers are stopped, events wait in the stream.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

#: Text that compares byte by byte.
BYTEWISE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

KEY = ("account_id", "slot_s", "api_key_id", "vendor", "model")
COSTS = ("cost_nanousd", "priced_requests")
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
    *COSTS,
)


def upgrade() -> None:
    """Create the tables, and sum the existing rollups by day."""
    _create_daily_rollups()
    _fill_daily_rollups()
    op.create_table(
        "retention",
        sa.Column("row", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("pruned_until_s", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "repricings",
        sa.Column("repricing_id", sa.Text, primary_key=True),
        sa.Column("started_at_ms", sa.BigInteger, nullable=False),
        sa.Column("start_ms", sa.BigInteger, nullable=False),
        sa.Column("end_ms", sa.BigInteger, nullable=False),
        sa.Column("changed_entries", sa.BigInteger, nullable=False),
        sa.Column("added_nanousd", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("repricings")
    op.drop_table("retention")
    op.drop_table("daily_rollups")


def _create_daily_rollups() -> None:
    op.create_table(
        "daily_rollups",
        *(
            sa.Column(
                name,
                sa.BigInteger if name == "slot_s" else BYTEWISE,
                primary_key=True,
                autoincrement=False,
            )
            for name in KEY
        ),
        *(
            sa.Column(
                name, sa.BigInteger, nullable=False, server_default="0" if name in COSTS else None
            )
            for name in MEASURES
        ),
        sqlite_with_rowid=False,
    )


def _fill_daily_rollups() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # Posts wait, so that none is missed; reads continue.
        op.execute("LOCK TABLE rollups IN SHARE MODE")
    rollups, daily = (
        sa.table(table, *(sa.column(name, sa.BigInteger) for name in (*KEY, *MEASURES)))
        for table in ("rollups", "daily_rollups")
    )
    day = sa.literal_column("86400", sa.BigInteger)
    key = [rollups.c[n] // day * day if n == "slot_s" else rollups.c[n] for n in KEY]
    sums = [sa.cast(sa.func.sum(rollups.c[name]), sa.BigInteger) for name in MEASURES]
    op.execute(daily.insert().from_select([*KEY, *MEASURES], sa.select(*key, *sums).group_by(*key)))
