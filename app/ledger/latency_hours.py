"""Which hours the table `latencies` is to be computed for: each post marks those of its entries.

A post only marks, because adding to histograms would take a tenth of its time.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, select, update

from app.ledger.retention import pruned_until_s
from app.storage.sql.tables import latency_hours, rollups_by_hour
from app.storage.sql.transactions import insert, reading, write


@dataclass(frozen=True, slots=True)
class MarkedHour:
    """An hour with posts that `latencies` does not include yet, and its number of posts."""

    hour_s: int
    posts: int


def mark_hours(connection: Connection, hours_s: Collection[int]) -> None:
    """Mark hours, in the transaction that changes their entries."""
    if not hours_s:
        return
    new = insert(connection, latency_hours)
    marked = new.on_conflict_do_update(
        index_elements=["hour_s"], set_={"posts": latency_hours.c.posts + 1}
    )
    rows = [{"hour_s": it, "posts": 1, "computed": 0} for it in sorted(hours_s)]
    connection.execute(marked, rows)


def mark_all(engine: Engine) -> None:
    """Mark every hour whose entries were not pruned.

    Raises: LedgerUnavailable.
    """
    write(engine, _mark_all)


def _mark_all(connection: Connection) -> None:
    hour_s = rollups_by_hour.c.slot_s
    known = select(hour_s).where(hour_s >= pruned_until_s(connection)).distinct()
    mark_hours(connection, connection.execute(known).scalars().all())


def marked_hours(engine: Engine, start_s: int, end_s: int) -> Sequence[MarkedHour]:
    """Return the marked hours from `start_s` to `end_s` (exclusive), the newest first.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        rows = connection.execute(
            select(latency_hours.c.hour_s, latency_hours.c.posts)
            .where(
                latency_hours.c.hour_s >= start_s,
                latency_hours.c.hour_s < end_s,
                latency_hours.c.posts != latency_hours.c.computed,
            )
            .order_by(latency_hours.c.hour_s.desc())
        )
        return [MarkedHour(*row) for row in rows]


def unmark(connection: Connection, hour: MarkedHour) -> None:
    """Note that `latencies` includes the posts of an hour, up to those that were known then."""
    of_hour = latency_hours.c.hour_s == hour.hour_s
    connection.execute(update(latency_hours).where(of_hour).values(computed=hour.posts))
