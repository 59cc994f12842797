"""Computes the table `latencies` from entries, hour by hour, and the days from the hours.

Runs beside posts, which do not wait for it. An hour that is posted to meanwhile is computed again.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, delete, select

from app.ledger import histogram
from app.ledger.entry_times import GROUPS, Key, Sums, count_entries
from app.ledger.latency_hours import MarkedHour, mark_all, marked_hours, unmark
from app.ledger.retention import pruned_until_s
from app.ledger.slots import floor_to
from app.storage.sql.tables import DAY_S, HOUR_S, SLOT_S, entries, latencies
from app.storage.sql.transactions import reading, write
from app.vocabulary.errors import LedgerUnavailable

log = logging.getLogger(__name__)

#: How long after its end an hour is computed, in seconds: the requests that began in it have ended
#: by then, but for the longest. Reports count younger hours from entries.
SETTLED_S = 120

#: The second hour that fails is the ledger's fault, and not that of one busy hour.
FAILURES = 2

#: After the last possible hour.
END_S = 2**60

_NAMES = tuple(GROUPS)
_VALUES = ("requests", "first_token", "duration")


def compute_latencies(engine: Engine, now_s: float, time_budget_s: float = 10.0) -> int:
    """Compute the marked hours that have ended, newest first; return how many.

    Stops after `time_budget_s`; the next call goes on.
    Raises: LedgerUnavailable; the hours computed so far are stored.
    """
    deadline_s = time.monotonic() + time_budget_s
    hours = marked_hours(engine, 0, floor_to(int(now_s) - SETTLED_S, HOUR_S))
    return compute_hours(engine, hours, lambda: time.monotonic() >= deadline_s)


def compute_hours(
    engine: Engine, hours: Sequence[MarkedHour], is_over: Callable[[], bool] = lambda: False
) -> int:
    """Compute hours, at least one, until `is_over`; return how many.

    If one hour takes too long, it is logged, and the others are computed.
    Raises: LedgerUnavailable at the second failure; the hours computed so far are stored.
    """
    computed, failed = 0, 0
    for hour in hours:
        try:
            _compute(engine, hour)
        except LedgerUnavailable as exc:
            failed += 1
            if failed == FAILURES or len(hours) == 1:
                raise
            log.warning(
                "the latencies of the hour from %s are not computed, and are tried again: %s",
                datetime.fromtimestamp(hour.hour_s, UTC).isoformat(),
                exc,
            )
        else:
            computed += 1
            if is_over():
                break
    return computed


def recompute_latencies(engine: Engine) -> int:
    """Compute all hours whose entries were not pruned; return how many.

    Raises: LedgerUnavailable; the hours computed so far are stored.
    """
    mark_all(engine)
    return compute_hours(engine, marked_hours(engine, 0, END_S))


def _compute(engine: Engine, hour: MarkedHour) -> None:
    # Read after the hour's number of posts: later posts only make the result more complete.
    quarters_s = range(hour.hour_s, hour.hour_s + HOUR_S, SLOT_S)
    of_hour = add_up(pair for it in quarters_s for pair in _quarter(engine, it).items())
    with reading(engine) as connection:
        # After the entries: a prune may have removed some in between.
        is_pruned = hour.hour_s < pruned_until_s(connection)
    write(engine, lambda connection: _store(connection, hour, None if is_pruned else of_hour))


def _quarter(engine: Engine, start_s: int) -> dict[Key, Sums]:
    """Count the entries of 15 minutes: statements have a time limit, also in the busiest hours."""
    at_ms, end_s = entries.c.started_at_ms, start_s + SLOT_S
    with reading(engine) as connection:
        of_slot = (at_ms >= start_s * 1000, at_ms < end_s * 1000)
        return count_entries(connection, _NAMES, of_slot)


def _store(connection: Connection, hour: MarkedHour, of_hour: dict[Key, Sums] | None) -> None:
    """Replace the rows of an hour and of its day; None: what is stored is all that is left."""
    if of_hour is not None:
        if connection.dialect.name == "postgresql":  # readers and posts do not wait
            connection.execute(sa.text("LOCK TABLE latencies IN EXCLUSIVE MODE"))
        _replace(connection, HOUR_S, hour.hour_s, of_hour)
        day_s = floor_to(hour.hour_s, DAY_S)
        _replace(connection, DAY_S, day_s, _day(connection, day_s))
    unmark(connection, hour)


def _replace(connection: Connection, width_s: int, slot_s: int, rows: dict[Key, Sums]) -> None:
    table = latencies.c
    of_slot = (table.width_s == width_s, table.slot_s == slot_s)
    connection.execute(delete(latencies).where(*of_slot))
    values = [
        {
            "width_s": width_s,
            "slot_s": slot_s,
            **dict(zip(_NAMES, key, strict=True)),
            "requests": requests,
            "first_token": histogram.encode(first_token),
            "duration": histogram.encode(duration),
        }
        for key, (requests, first_token, duration) in rows.items()
    ]
    if values:
        connection.execute(latencies.insert(), values)


def _day(connection: Connection, day_s: int) -> dict[Key, Sums]:
    table = latencies.c
    found = connection.execute(
        select(*(table[name] for name in (*_NAMES, *_VALUES))).where(
            table.width_s == HOUR_S, table.slot_s >= day_s, table.slot_s < day_s + DAY_S
        )
    )
    return add_up((tuple(row[:-3]), decoded(*row[-3:])) for row in found)


def decoded(requests: int, first_token: str, duration: str) -> Sums:
    """Return the values of a row."""
    return [requests, histogram.decode(first_token), histogram.decode(duration)]


def add_up(rows: Iterable[tuple[Key, Sums]]) -> dict[Key, Sums]:
    """Return the sums by key."""
    added: defaultdict[Key, Sums] = defaultdict(lambda: [0, 0, 0])
    for key, sums in rows:
        added[key] = list(map(int.__add__, added[key], sums))
    return added
