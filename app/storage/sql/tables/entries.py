"""One entry per request."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Table, Text

from app.storage.sql.tables.columns import BYTEWISE, LATER_COUNTS, metadata
from app.vocabulary.completion import USAGE_COUNTS
from app.vocabulary.request import COMPLETIONS

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
    Column("endpoint", BYTEWISE, nullable=False, server_default=COMPLETIONS),
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
    *(
        Column(
            name,
            BigInteger,
            nullable=False,
            server_default="0" if name in LATER_COUNTS else None,
        )
        for name in USAGE_COUNTS
    ),
    Column("vendor_request_id", BYTEWISE),
    Column("http_status", BigInteger),
    Column("attempts", BigInteger, nullable=False),
    Column("client_retry_count", BigInteger, nullable=False),
    Column("started_at_ms", BigInteger, nullable=False),
    Column("first_token_ms", BigInteger),
    Column("duration_ms", BigInteger, nullable=False),
    #: Why the request failed; null if it did not, and in entries that an older version has posted.
    Column("error_code", BYTEWISE),
    Column("error_message", Text),
    #: JSON: the usage of each call; null if the request took one call, as in the other columns.
    Column("calls", Text),
    #: JSON: how each call went; null if the only call succeeded.
    Column("attempt_log", Text),
    #: In nano-dollars; null if the price was unknown.
    Column("cost_nanousd", BigInteger),
    Column("price_id", BYTEWISE),
    Index("entries_by_account_and_time", "account_id", "started_at_ms"),
    # For ranges of all accounts that end inside a slot, which need only a few entries.
    Index("entries_by_time", "started_at_ms"),
    # For "why did this request fail?", which names the request by one of its ids.
    Index("entries_by_request_id", "request_id"),
    Index("entries_by_vendor_request_id", "vendor_request_id"),
)
