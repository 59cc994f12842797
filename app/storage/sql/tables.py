"""The ledger's tables, as the newest migration leaves them; knows no query.

Text compares byte by byte on both databases: accounts, keys and models keep their case. Times are
Unix time in UTC, in the unit that the name ends in.
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

#: Width of a rollup's slot: every time zone's day is a whole number of quarters of an hour.
SLOT_S = 15 * 60
HOUR_S = 3_600
DAY_S = 86_400

#: SQLite compares bytes of its own accord; PostgreSQL by the language of the machine.
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
    #: Scopes in alphabetical order, between single spaces.
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

#: Sign-ins at the dashboard. Only digests of tokens are kept: who reads them can sign in nowhere.
sessions = Table(
    "sessions",
    metadata,
    Column("token_sha256", LargeBinary, primary_key=True),
    Column("key_id", BYTEWISE, ForeignKey("api_keys.key_id"), nullable=False),
    Column("expires_at_ms", BigInteger, nullable=False),
)

#: What accounts and keys may use: `kind` says which of them, and a null is no limit. Money is in
#: nano-dollars a `period`, `day` or `month`.
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

#: One row per UsageEvent, column by field, with what it cost. It names accounts and keys without
#: foreign keys: what was used is recorded whatever has become of them.
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
    # Null in entries that the version before has posted: both sides are as `source` says.
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
    #: JSON: what each call used; null where the other columns tell.
    Column("calls", Text),
    #: In nano-dollars; null where the price was not known.
    Column("cost_nanousd", BigInteger),
    Column("price_id", BYTEWISE),
    Index("entries_by_account_and_time", "account_id", "started_at_ms"),
    # A range of every account that ends within a slot needs a few entries out of all.
    Index("entries_by_time", "started_at_ms"),
)

#: The prices that entries name, each kept as it was when it was first used.
prices = Table(
    "prices",
    metadata,
    Column("price_id", BYTEWISE, primary_key=True),
    #: JSON: nano-dollars a million tokens.
    Column("rates", Text, nullable=False),
)

#: Every time that entries were priced anew: which (Unix ms), how many changed, by how much in all.
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

#: By how much the cost of what was posted has changed since, and in how many changes, by the day on
#: which it was used: what a budget has counted before is put right by it.
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

#: One row, or none where nothing was ever pruned: before this time there are rollups alone.
retention = Table(
    "retention",
    metadata,
    Column("row", BigInteger, primary_key=True, autoincrement=False),
    Column("pruned_until_s", BigInteger, nullable=False),
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
#: Measures that rollups have not always had; what was summed before counts as nothing, and what a
#: version that does not know them adds, too.
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


#: Sums of entries; `slot_s` is the start of the slot that holds `started_at_ms`.
rollups = _rollup_table("rollups")

#: The same by days in UTC, so that a month of many keys and models is read in a moment.
daily_rollups = _rollup_table("daily_rollups")

#: The same by hours in UTC, of which days in other time zones are made but for their edges.
rollups_by_hour = _rollup_table("rollups_by_hour")

#: Width of the slots in seconds -> rollups, the widest first.
ROLLUP_TABLES: dict[int, Table] = {DAY_S: daily_rollups, HOUR_S: rollups_by_hour, SLOT_S: rollups}
