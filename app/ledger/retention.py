"""Retention: old entries are pruned, and their rollups stay.

An event that is posted long after it was pruned would count again, so a ledger keeps its entries
for longer than any spool or dead stream waits to be replayed.
"""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, Engine, delete, func, select

from app.ledger.reports.buckets import floor_to
from app.storage.sql.tables import DAY_S, entries, retention
from app.storage.sql.transactions import insert, reading, write
from app.vocabulary.errors import UsagePruned

#: Entries of one transaction: it is over before anybody waits for it.
AT_ONCE = 5_000

_ROW = 1


def pruned_until_s(connection: Connection) -> int:
    """Return the time before which there are rollups alone, in Unix seconds; 0 for never."""
    return connection.scalar(select(retention.c.pruned_until_s)) or 0


def require_entries(connection: Connection, start_s: int) -> None:
    """Check that entries from `start_s` on are all there, to be asked after they were read.

    Before they are read, a prune in between would go unseen.
    Raises: UsagePruned.
    """
    until_s = pruned_until_s(connection)
    if start_s < until_s:
        raise UsagePruned(
            f"Before {until_s} (Unix seconds) usage is kept by the quarter of an hour: not by user,"
            " by shorter buckets, or in ranges that begin or end between quarters.",
            param="start_time",
        )


def count_older(engine: Engine, before_s: int) -> int:
    """Count the entries that a prune would remove.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        return connection.scalar(select(func.count()).where(_older(before_s))) or 0


def prune(engine: Engine, before_s: int, at_once: int = AT_ONCE) -> Iterator[int]:
    """Remove the entries of the days that ended by `before_s`, yielding how many, batch by batch.

    First it is written down that they go, so that nobody takes what is left of them for all of
    them; a prune that is interrupted is finished by the next one.
    Raises: LedgerUnavailable; what is removed by then stays removed.
    """
    until_s = floor_to(before_s, DAY_S)
    write(engine, lambda connection: _mark(connection, until_s))
    while removed := write(engine, lambda connection: _remove(connection, until_s, at_once)):
        yield removed


def _mark(connection: Connection, until_s: int) -> None:
    known_s = pruned_until_s(connection)
    statement = insert(connection, retention).values(row=_ROW, pruned_until_s=max(known_s, until_s))
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["row"], set_={"pruned_until_s": statement.excluded.pruned_until_s}
        )
    )


def _remove(connection: Connection, until_s: int, at_once: int) -> int:
    oldest = (
        select(entries.c.event_id)
        .where(_older(until_s))
        .order_by(entries.c.started_at_ms)
        .limit(at_once)
    )
    return connection.execute(delete(entries).where(entries.c.event_id.in_(oldest))).rowcount


def _older(before_s: int) -> ColumnElement[bool]:
    return entries.c.started_at_ms < floor_to(before_s, DAY_S) * 1000
