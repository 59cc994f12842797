"""Rollups by the hour.

A worker of the version before knows none: what it posts after this, they lack, until
`tollgate reconcile --rebuild`. With the workers stopped, events wait in the stream.
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
    """Make the table, and sum up the hours."""
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
    if op.get_bind().dialect.name == "postgresql":
        # Posts wait, so that none is left out; reads go on.
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


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("rollups_by_hour")
