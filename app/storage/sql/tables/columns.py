"""What all tables share."""

from sqlalchemy import MetaData, Text

#: SQLite compares bytes by default; PostgreSQL's default depends on the host's locale.
BYTEWISE = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData()

#: Counts that were added in a later version. They are 0 in older rows, and in those that an older
#: version still writes.
LATER_COUNTS: tuple[str, ...] = (
    "image_prompt_tokens",
    "image_completion_tokens",
    "cache_write_1h_tokens",
    "web_search_calls",
)
