"""Retention: prunes old entries, and keeps their rollups.

If a pruned event were posted again, it would count twice. Keep entries for longer than any event
may stay in a spool or in the dead-letter stream.
"""

import time
from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, Engine, delete, func, select

from app.ledger.slots import floor_to
from app.storage.sql.audit import UNKNOWN_ACTOR, Actor, Change, record
from app.storage.sql.partitions import drop_older
from app.storage.sql.postgresql import without_time_limit
from app.storage.sql.tables import DAY_S, entries, retention
from app.storage.sql.transactions import insert, reading, write
from app.vocabulary.errors import UsagePruned

#: Entries per transaction: small enough that other writers do not wait for long.
BATCH_SIZE = 5_000

_ROW = 1


def pruned_until_s(connection: Connection) -> int:
    """Return the Unix time in seconds before which entries were pruned; 0 if none ever was."""
    return connection.scalar(select(retention.c.pruned_until_s)) or 0


def require_entries(connection: Connection, start_s: int) -> None:
    """Check that no entry from `start_s` on was pruned.

    Call this after reading the entries: a check before them would miss a prune in between.
    Raises: UsagePruned.
    """
    until_s = pruned_until_s(connection)
    if start_s < until_s:
        raise UsagePruned(
            f"Before {until_s} (Unix seconds), only 15-minute totals are stored. Do not group or"
            " filter by user, use shorter buckets, or start or end a range inside a 15-minute"
            " slot.",
            param="start_time",
        )


def count_older(engine: Engine, before_s: int) -> int:
    """Return how many entries `prune` would remove.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        without_time_limit(connection)
        return connection.scalar(select(func.count()).where(_older(before_s))) or 0


def prune(
    engine: Engine,
    before_s: int,
    batch_size: int = BATCH_SIZE,
    *,
    actor: Actor = UNKNOWN_ACTOR,
) -> Iterator[int]:
    """Remove the entries of the days that ended by `before_s` (UTC); yield each batch's count.

    On PostgreSQL, whole months are dropped first, each as one batch of any size.
    The limit is stored before the first removal, so that no query takes the remaining entries for
    all entries, with the prune in the audit trail as the actor's. If a prune is interrupted, the
    next one finishes it.
    Raises: LedgerUnavailable; batches that were yielded stay removed.
    """
    until_s = floor_to(before_s, DAY_S)
    write(engine, lambda connection: _mark(connection, until_s, actor))
    yield from drop_older(engine, until_s * 1000)
    while removed := write(engine, lambda connection: _remove(connection, until_s, batch_size)):
        yield removed


def _mark(connection: Connection, until_s: int, actor: Actor) -> None:
    change = Change("prune", detail={"entries_before_s": until_s})
    record(connection, time.time_ns() // 1_000_000, actor, change)
    known_s = pruned_until_s(connection)
    statement = insert(connection, retention).values(row=_ROW, pruned_until_s=max(known_s, until_s))
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["row"], set_={"pruned_until_s": statement.excluded.pruned_until_s}
        )
    )


def _remove(connection: Connection, until_s: int, batch_size: int) -> int:
    oldest = (
        select(entries.c.event_id)
        .where(_older(until_s))
        .order_by(entries.c.started_at_ms)
        .limit(batch_size)
    )
    return connection.execute(delete(entries).where(entries.c.event_id.in_(oldest))).rowcount


def _older(before_s: int) -> ColumnElement[bool]:
    return entries.c.started_at_ms < floor_to(before_s, DAY_S) * 1000
