"""What all tables share."""

from sqlalchemy import MetaData, Text

#: SQLite compares bytes by default; PostgreSQL's default depends on the host's locale.
BYTEWISE = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData()
