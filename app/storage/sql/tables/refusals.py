"""Requests that were refused before any vendor was called."""

from sqlalchemy import BigInteger, Column, Table

from app.storage.sql.tables.columns import BYTEWISE, metadata

#: Refused requests by hour (UTC). Account and key are empty if they are not known, and so is the
#: endpoint of what is not valid HTTP.
refusals = Table(
    "refusals",
    metadata,
    Column("hour_s", BigInteger, primary_key=True, autoincrement=False),
    Column("account_id", BYTEWISE, primary_key=True),
    Column("api_key_id", BYTEWISE, primary_key=True),
    Column("endpoint", BYTEWISE, primary_key=True),
    Column("reason", BYTEWISE, primary_key=True),
    Column("requests", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

#: The batches of refusals that were posted lately, so that none is added twice.
refusal_batches = Table(
    "refusal_batches",
    metadata,
    Column("batch_id", BYTEWISE, primary_key=True),
    Column("posted_at_ms", BigInteger, nullable=False),
)
