"""Reading the calls of entries that tell them: a vendor's part of a request is in its own call."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from app.storage.sql.tables import entries
from app.usage.call_usage import CallUsage, decode_calls

#: Entries held in memory at a time.
AT_ONCE = 1_000


class EntryCalls(NamedTuple):
    """The calls of one entry, when it started, and whose count it is."""

    calls: tuple[CallUsage, ...]
    started_at_ms: int
    source: str


def entry_calls(connection: Connection, *of: ColumnElement[bool]) -> Iterator[EntryCalls]:
    """Yield the calls of those entries that have any, in no order."""
    statement = select(entries.c.calls, entries.c.started_at_ms, entries.c.source)
    rows = connection.execute(
        statement.where(*of, entries.c.calls.is_not(None)),
        execution_options={"yield_per": AT_ONCE},
    )
    for calls, started_at_ms, source in rows:
        yield EntryCalls(decode_calls(calls), started_at_ms, source)
