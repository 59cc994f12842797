"""Sums of entries by time."""

from sqlalchemy import BigInteger, Column, Table

from app.storage.sql.tables.columns import BYTEWISE, metadata
from app.vocabulary.completion import USAGE_COUNTS

#: Width of a slot of `rollups` in seconds: all time zones' days begin at a multiple of 15 minutes.
SLOT_S = 15 * 60
HOUR_S = 3_600
DAY_S = 86_400

ROLLUP_KEY: tuple[str, ...] = ("account_id", "slot_s", "api_key_id", "vendor", "model")
ROLLUP_MEASURES: tuple[str, ...] = (
    "requests",
    "failed_requests",
    "estimated_requests",
    *USAGE_COUNTS,
    "cost_nanousd",
    "priced_requests",
    "empty_requests",
)
#: Measures added in a later version. They are 0 in older sums, and in sums that an older version
#: still writes.
LATER_MEASURES: tuple[str, ...] = ("cost_nanousd", "priced_requests", "empty_requests")


def _rollup_table(name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("account_id", BYTEWISE, primary_key=True),
        Column("slot_s", BigInteger, primary_key=True, autoincrement=False),
        Column("api_key_id", BYTEWISE, primary_key=True),
        Column("vendor", BYTEWISE, primary_key=True),
        Column("model", BYTEWISE, primary_key=True),
        *(
            Column(
                measure,
                BigInteger,
                nullable=False,
                server_default="0" if measure in LATER_MEASURES else None,
            )
            for measure in ROLLUP_MEASURES
        ),
        sqlite_with_rowid=False,
    )


#: Sums of entries by 15 minutes; `slot_s` is the start of the slot that contains `started_at_ms`.
rollups = _rollup_table("rollups")

#: Sums by days in UTC, so that a month of many keys and models is read quickly.
daily_rollups = _rollup_table("daily_rollups")

#: Sums by hours in UTC, from which days of other time zones are summed, except at their edges.
rollups_by_hour = _rollup_table("rollups_by_hour")

#: Width of the slots in seconds -> rollups; the widest first.
ROLLUP_TABLES: dict[int, Table] = {DAY_S: daily_rollups, HOUR_S: rollups_by_hour, SLOT_S: rollups}
