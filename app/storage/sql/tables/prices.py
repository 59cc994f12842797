"""What entries were priced with, and what re-pricing changed."""

from sqlalchemy import BigInteger, Column, Table, Text

from app.storage.sql.tables.columns import BYTEWISE, metadata

#: The prices that entries refer to, as they were at their first use.
prices = Table(
    "prices",
    metadata,
    Column("price_id", BYTEWISE, primary_key=True),
    #: JSON: nano-dollars per million tokens.
    Column("rates", Text, nullable=False),
    #: JSON: the rates of kinds that the version before does not know, which cannot read them among
    #: the others; null if the price has none.
    Column("later_rates", Text),
)

#: A row for each re-pricing: its range (Unix ms), how many entries it changed, and by how much.
#: `account_ids` and `models` are JSON lists, null if it was not narrowed to some of them.
repricings = Table(
    "repricings",
    metadata,
    Column("repricing_id", Text, primary_key=True),
    Column("started_at_ms", BigInteger, nullable=False),
    Column("start_ms", BigInteger, nullable=False),
    Column("end_ms", BigInteger, nullable=False),
    Column("changed_entries", BigInteger, nullable=False),
    Column("added_nanousd", BigInteger, nullable=False),
    Column("account_ids", Text),
    Column("models", Text),
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
