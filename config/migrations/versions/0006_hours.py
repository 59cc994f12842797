"""Hourly rollups.

Workers of the previous version do not update them: `tollgate reconcile --rebuild` adds what they
post after this migration. If workers are stopped, events wait in the stream.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

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
    """Create the table, and sum the existing rollups by hour."""
    _create_hourly_rollups()
    _fill_hourly_rollups()


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("rollups_by_hour")


def _create_hourly_rollups() -> None:
    op.create_table(
        "rollups_by_hour",
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


def _fill_hourly_rollups() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # Posts wait, so that none is missed; reads continue.
        op.execute("LOCK TABLE rollups IN SHARE MODE")
    rollups, hourly = (
        sa.table(table, *(sa.column(name, sa.BigInteger) for name in (*KEY, *MEASURES)))
        for table in ("rollups", "rollups_by_hour")
    )
    hour = sa.literal_column("3600", sa.BigInteger)
    key = [rollups.c[n] // hour * hour if n == "slot_s" else rollups.c[n] for n in KEY]
    sums = [sa.cast(sa.func.sum(rollups.c[name]), sa.BigInteger) for name in MEASURES]
    op.execute(
        hourly.insert().from_select([*KEY, *MEASURES], sa.select(*key, *sums).group_by(*key))
    )
