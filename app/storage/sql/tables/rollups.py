"""Sums of entries by time."""

from sqlalchemy import BigInteger, Column, Table

from app.storage.sql.tables.columns import BYTEWISE, LATER_COUNTS, metadata
from app.vocabulary.completion import USAGE_COUNTS

#: Width of a slot of `rollups` in seconds: all time zones' days begin at a multiple of 15 minutes.
SLOT_S = 15 * 60
HOUR_S = 3_600
DAY_S = 86_400

ROLLUP_KEY: tuple[str, ...] = ("account_id", "slot_s", "api_key_id", "vendor", "model")
#: The key of the rollups by endpoint.
ENDPOINT_KEY: tuple[str, ...] = (*ROLLUP_KEY, "endpoint")
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
LATER_MEASURES: tuple[str, ...] = (
    "cost_nanousd",
    "priced_requests",
    "empty_requests",
    *LATER_COUNTS,
)


def _rollup_table(name: str, key: tuple[str, ...] = ROLLUP_KEY) -> Table:
    return Table(
        name,
        metadata,
        *(
            Column(
                it,
                BigInteger if it == "slot_s" else BYTEWISE,
                primary_key=True,
                autoincrement=False,
            )
            for it in key
        ),
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

#: Of what the rollups above sum, the part of each endpoint but `completions`; the rest is that
#: one's. So the version before, which knows one endpoint, still reads and adds to correct totals.
ENDPOINT_TABLES: dict[int, Table] = {
    width_s: _rollup_table(f"endpoint_{table.name}", ENDPOINT_KEY)
    for width_s, table in ROLLUP_TABLES.items()
}
