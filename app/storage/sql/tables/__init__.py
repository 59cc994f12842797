"""The ledger's tables after the newest migration, a module for each subject. Contains no queries.

Text compares byte by byte on both databases, so names are case-sensitive. Times are Unix times, in
the unit at the end of the column's name.
"""

from app.storage.sql.tables.accounts import accounts, api_key_accounts, api_keys, limits, sessions
from app.storage.sql.tables.audit import audit
from app.storage.sql.tables.columns import BYTEWISE, LATER_COUNTS, metadata
from app.storage.sql.tables.entries import entries
from app.storage.sql.tables.latencies import LATENCY_KEY, latencies, latency_hours
from app.storage.sql.tables.prices import corrections, prices, repricings
from app.storage.sql.tables.progress import cells, processes, retention
from app.storage.sql.tables.refusals import refusal_batches, refusals
from app.storage.sql.tables.rollups import (
    DAY_S,
    ENDPOINT_KEY,
    ENDPOINT_TABLES,
    HOUR_S,
    LATER_MEASURES,
    ROLLUP_KEY,
    ROLLUP_MEASURES,
    ROLLUP_TABLES,
    SLOT_S,
    daily_rollups,
    rollups,
    rollups_by_hour,
)

__all__ = [
    "BYTEWISE",
    "DAY_S",
    "ENDPOINT_KEY",
    "ENDPOINT_TABLES",
    "HOUR_S",
    "LATENCY_KEY",
    "LATER_COUNTS",
    "LATER_MEASURES",
    "ROLLUP_KEY",
    "ROLLUP_MEASURES",
    "ROLLUP_TABLES",
    "SLOT_S",
    "accounts",
    "api_key_accounts",
    "api_keys",
    "audit",
    "cells",
    "corrections",
    "daily_rollups",
    "entries",
    "latencies",
    "latency_hours",
    "limits",
    "metadata",
    "prices",
    "processes",
    "refusal_batches",
    "refusals",
    "repricings",
    "retention",
    "rollups",
    "rollups_by_hour",
    "sessions",
]
