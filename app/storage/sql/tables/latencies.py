"""How requests ended and how long they took, by time."""

from sqlalchemy import BigInteger, Column, Table, Text

from app.storage.sql.tables.columns import BYTEWISE, metadata

#: `width_s` is that of the slot: an hour or a day. `vendor` and `model` are those that were
#: requested, `vendor_served` is the vendor that responded, and `http_status` its status (0: none).
LATENCY_KEY: tuple[str, ...] = (
    "width_s",
    "slot_s",
    "account_id",
    "api_key_id",
    "vendor",
    "model",
    "vendor_served",
    "status",
    "http_status",
)

#: `first_token` and `duration` are histograms of completed requests (`app.ledger.histogram`).
latencies = Table(
    "latencies",
    metadata,
    *(
        Column(
            name,
            BigInteger if name.endswith(("_s", "http_status")) else BYTEWISE,
            primary_key=True,
            autoincrement=False,
        )
        for name in LATENCY_KEY
    ),
    Column("requests", BigInteger, nullable=False),
    Column("first_token", Text, nullable=False),
    Column("duration", Text, nullable=False),
    sqlite_with_rowid=False,
)

#: The hours of which entries were posted: how many posts there were, and how many of them
#: `latencies` includes.
latency_hours = Table(
    "latency_hours",
    metadata,
    Column("hour_s", BigInteger, primary_key=True, autoincrement=False),
    Column("posts", BigInteger, nullable=False),
    Column("computed", BigInteger, nullable=False),
)
