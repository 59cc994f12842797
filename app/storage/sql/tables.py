"""The ledger's tables after the newest migration. Contains no queries.

Text compares byte by byte on both databases, so names are case-sensitive. Times are Unix times, in
the unit at the end of the column's name.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from app.vocabulary.completion import USAGE_COUNTS

#: Width of a slot of `rollups` in seconds: all time zones' days begin at a multiple of 15 minutes.
SLOT_S = 15 * 60
HOUR_S = 3_600
DAY_S = 86_400

#: SQLite compares bytes by default; PostgreSQL's default depends on the host's locale.
BYTEWISE = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData()

accounts = Table(
    "accounts",
    metadata,
    Column("account_id", BYTEWISE, primary_key=True),
    Column("name", Text, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", BYTEWISE, primary_key=True),
    Column("secret_sha256", LargeBinary, nullable=False, unique=True),
    Column("name", Text),
    #: Scopes in alphabetical order, separated by single spaces.
    Column("scopes", Text, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger),
    Column("revoked_at_ms", BigInteger),
    Column("rotated_from", BYTEWISE, ForeignKey("api_keys.key_id")),
    Column("operation_id", BYTEWISE),
    UniqueConstraint("rotated_from", "operation_id", name="api_keys_one_per_operation"),
)

api_key_accounts = Table(
    "api_key_accounts",
    metadata,
    Column("key_id", BYTEWISE, ForeignKey("api_keys.key_id"), primary_key=True),
    Column("account_id", BYTEWISE, ForeignKey("accounts.account_id"), primary_key=True),
)

#: Sessions of the dashboard. Only digests of tokens are stored, which cannot be used to sign in.
sessions = Table(
    "sessions",
    metadata,
    Column("token_sha256", LargeBinary, primary_key=True),
    Column("key_id", BYTEWISE, ForeignKey("api_keys.key_id"), nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
)

#: Limits of accounts and keys: `kind` is `account` or `key`, and null means no limit. Budgets are
#: in nano-dollars per `period`, which is `day` or `month`.
limits = Table(
    "limits",
    metadata,
    Column("kind", BYTEWISE, primary_key=True),
    Column("subject_id", BYTEWISE, primary_key=True),
    Column("requests_per_minute", BigInteger),
    Column("tokens_per_minute", BigInteger),
    Column("streams", BigInteger),
    Column("budget_nanousd", BigInteger),
    Column("soft_nanousd", BigInteger),
    Column("period", BYTEWISE, nullable=False),
)

#: One row per UsageEvent, with a column for each field, and its cost. Accounts and keys are not
#: foreign keys, so that usage is recorded even if they no longer exist.
entries = Table(
    "entries",
    metadata,
    Column("event_id", BYTEWISE, primary_key=True),
    Column("request_id", BYTEWISE, nullable=False),
    Column("account_id", BYTEWISE, nullable=False),
    Column("api_key_id", BYTEWISE, nullable=False),
    Column("user", BYTEWISE),
    Column("vendor", BYTEWISE, nullable=False),
    Column("model", BYTEWISE, nullable=False),
    Column("vendor_served", BYTEWISE),
    Column("model_served", BYTEWISE),
    Column("service_tier", BYTEWISE),
    Column("stream", Boolean, nullable=False),
    Column("status", BYTEWISE, nullable=False),
    Column("source", BYTEWISE, nullable=False),
    # Null in entries that an older version has posted; `source` then applies to both sides.
    Column("prompt_source", BYTEWISE),
    Column("completion_source", BYTEWISE),
    *(Column(name, BigInteger, nullable=False) for name in USAGE_COUNTS),
    Column("vendor_request_id", BYTEWISE),
    Column("http_status", BigInteger),
    Column("attempts", BigInteger, nullable=False),
    Column("client_retry_count", BigInteger, nullable=False),
    Column("started_at_ms", BigInteger, nullable=False),
    Column("first_token_ms", BigInteger),
    Column("duration_ms", BigInteger, nullable=False),
    #: JSON: the usage of each call; null if the request took one call, as in the other columns.
    Column("calls", Text),
    #: In nano-dollars; null if the price was unknown.
    Column("cost_nanousd", BigInteger),
    Column("price_id", BYTEWISE),
    Index("entries_by_account_and_time", "account_id", "started_at_ms"),
    # For ranges of all accounts that end inside a slot, which need only a few entries.
    Index("entries_by_time", "started_at_ms"),
)

#: The prices that entries refer to, as they were at their first use.
prices = Table(
    "prices",
    metadata,
    Column("price_id", BYTEWISE, primary_key=True),
    #: JSON: nano-dollars per million tokens.
    Column("rates", Text, nullable=False),
)

#: A row for each re-pricing: its range (Unix ms), how many entries it changed, and by how much.
repricings = Table(
    "repricings",
    metadata,
    Column("repricing_id", Text, primary_key=True),
    Column("started_at_ms", BigInteger, nullable=False),
    Column("start_ms", BigInteger, nullable=False),
    Column("end_ms", BigInteger, nullable=False),
    Column("changed_entries", BigInteger, nullable=False),
    Column("added_nanousd", BigInteger, nullable=False),
)

#: Changes of costs that budgets have already counted, summed by the day of the usage.
corrections = Table(
    "corrections",
    metadata,
    Column("account_id", BYTEWISE, primary_key=True),
    Column("api_key_id", BYTEWISE, primary_key=True),
    Column("day_s", BigInteger, primary_key=True, autoincrement=False),
    Column("corrected_requests", BigInteger, nullable=False),
    Column("added_nanousd", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

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
