"""Reads the calls of entries that store them: one for each vendor call of a request."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from app.storage.sql.tables import entries
from app.usage.messages.call_usage import CallUsage, decode_calls

#: Entries that are held in memory at the same time.
BATCH_SIZE = 1_000


class EntryCalls(NamedTuple):
    """The calls of one entry, the entry's start (Unix ms), and the source of its counts."""

    calls: tuple[CallUsage, ...]
    started_at_ms: int
    source: str


def entry_calls(connection: Connection, *conditions: ColumnElement[bool]) -> Iterator[EntryCalls]:
    """Yield the calls of the entries that meet `conditions` and store calls, in any order."""
    statement = select(entries.c.calls, entries.c.started_at_ms, entries.c.source)
    rows = connection.execute(
        statement.where(*conditions, entries.c.calls.is_not(None)),
        execution_options={"yield_per": BATCH_SIZE},
    )
    for calls, started_at_ms, source in rows:
        yield EntryCalls(decode_calls(calls), started_at_ms, source)
