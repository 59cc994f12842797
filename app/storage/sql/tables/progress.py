"""How far the ledger is: what was pruned, which requests it has, how far each cell is."""

from sqlalchemy import BigInteger, Column, Table, Text

from app.storage.sql.tables.columns import BYTEWISE, metadata

#: One row with the time before which entries were pruned; no row if none ever were.
retention = Table(
    "retention",
    metadata,
    Column("row", BigInteger, primary_key=True, autoincrement=False),
    Column("pruned_until_s", BigInteger, nullable=False),
)

#: What the ledger knows of the web processes that numbered their requests. `given` is the last
#: number, as far as workers have seen it; `posted` the numbers that the ledger has, as ranges in
#: JSON, and of these `written_off` were never posted. The times are those of the first and the last
#: sign of the process.
processes = Table(
    "processes",
    metadata,
    Column("process", BYTEWISE, primary_key=True),
    Column("given", BigInteger, nullable=False),
    Column("posted", Text, nullable=False),
    Column("written_off", BigInteger, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("seen_ms", BigInteger, nullable=False),
)

#: How far each cell is; times in Unix ms. A cell is one Redis with its web processes and workers.
cells = Table(
    "cells",
    metadata,
    Column("cell_id", BYTEWISE, primary_key=True),
    Column("complete_until_ms", BigInteger, nullable=False),
    Column("written_at_ms", BigInteger, nullable=False),
)
