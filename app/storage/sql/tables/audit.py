"""The audit trail: who changed what, and when."""

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from app.storage.sql.tables.columns import BYTEWISE, metadata

#: One row per change, written in the change's own transaction. It has no foreign keys, so it
#: outlives what it is about. Contains no secret.
audit = Table(
    "audit",
    metadata,
    Column(
        "audit_id",
        BigInteger().with_variant(Integer, "sqlite"),  # SQLite numbers only an INTEGER
        primary_key=True,
        autoincrement=True,
    ),
    Column("at_ms", BigInteger, nullable=False),
    Column("actor", BYTEWISE, nullable=False),
    #: `cli` or `dashboard`.
    Column("channel", BYTEWISE, nullable=False),
    Column("action", BYTEWISE, nullable=False),
    #: IDs between single spaces, also at both ends; empty for none.
    Column("account_ids", BYTEWISE, nullable=False),
    Column("api_key_id", BYTEWISE),
    #: JSON: what was changed; for a changed value, a list of the old and the new one.
    Column("detail", Text, nullable=False),
    #: The ID of a form that was sent; null for other changes. A form that is sent twice acts once.
    Column("operation_id", BYTEWISE, unique=True),
    Index("audit_by_time", "at_ms"),
)
