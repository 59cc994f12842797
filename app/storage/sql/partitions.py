"""Monthly partitions of entries on PostgreSQL: creates the coming months, and drops old ones.

An entry belongs to the month of its event id, a UUIDv7. Other ids, and months without a partition,
go to the default partition, so a missing partition never makes a post fail. On SQLite, and before
the migration that partitions the table, nothing here changes anything.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from app.storage.sql.errors import is_lock_timeout
from app.storage.sql.postgresql import without_time_limit
from app.storage.sql.transactions import pause, reading, write
from app.vocabulary.errors import LedgerUnavailable

#: Months that have a partition ahead of time, the current one not included.
MONTHS_AHEAD = 3
#: The most entries that are moved from the default partition to a new one. If a month has more
#: there, it stays there.
MOVED_LIMIT = 50_000
#: How long a change of partitions waits for statements that use the table. All later statements
#: wait behind it meanwhile.
WAIT_S = 2
#: Attempts at a drop that reaches WAIT_S.
ATTEMPTS = 5

DEFAULT = "entries_default"

_IS_PARTITIONED = sa.text("SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass('entries')")
_PARTITIONS = sa.text(
    "SELECT child.relname, pg_get_expr(child.relpartbound, child.oid)"
    " FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid"
    " WHERE inhparent = to_regclass('entries') ORDER BY child.relname"
)
_RANGE = re.compile(r"FROM \((?:MINVALUE|'(?P<start>[^']*)')\) TO \('(?P<end>[^']*)'\)")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition with the event ids from `start` to `end` (exclusive), in byte order."""

    name: str
    start: str
    end: str


def first_id(at_ms: int) -> str:
    """Return the text that UUIDv7s of a time (Unix ms) begin with; those of later times exceed it.

    Source: RFC 9562, section 5.7.
    """
    digits = f"{at_ms:012x}"
    return f"{digits[:8]}-{digits[8:]}"


def months_from(now_s: float, count: int) -> Iterator[Partition]:
    """Yield the partitions of the month of `now_s` (Unix seconds, UTC) and of the next ones."""
    now = datetime.fromtimestamp(now_s, UTC)
    first = now.year * 12 + now.month - 1
    for month in range(first, first + count):
        start, end = _start(month), _start(month + 1)
        name = f"entries_{start.year}_{start.month:02}"
        yield Partition(name, *(first_id(int(it.timestamp()) * 1000) for it in (start, end)))


def _start(month: int) -> datetime:
    """Return the start of a month, which is counted from year 0."""
    return datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)


def is_partitioned(connection: Connection) -> bool:
    """Return whether entries has partitions."""
    return connection.dialect.name == "postgresql" and bool(connection.scalar(_IS_PARTITIONED))


def partitions(connection: Connection) -> list[Partition]:
    """Return the partitions of entries, without the default one; none if it has no partitions."""
    if not is_partitioned(connection):
        return []
    found = [(name, _RANGE.search(bound)) for name, bound in connection.execute(_PARTITIONS)]
    return [Partition(name, it["start"] or "", it["end"]) for name, it in found if it]


def create_months(engine: Engine, now_s: float) -> list[str]:
    """Create the partitions of this month and of the next MONTHS_AHEAD; return the new ones' names.

    Entries of such a month that are in the default partition move to the new one, up to
    MOVED_LIMIT.
    Repeats: a month that has a partition is a no-op.
    Raises: LedgerUnavailable, also when the table is in use for longer than WAIT_S; months so far
    are created.
    """
    with reading(engine) as connection:
        if not is_partitioned(connection):
            return []
        known = partitions(connection)
    months = months_from(now_s, MONTHS_AHEAD + 1)
    missing = [it for it in months if not _overlaps(it, known)]
    return [it.name for it in missing if write(engine, partial(_create, it))]


def _overlaps(month: Partition, known: list[Partition]) -> bool:
    return any(it.start < month.end and month.start < it.end for it in known)


def _create(month: Partition, connection: Connection) -> bool:
    """Create a month's partition, unless another process has, or too many entries would move."""
    _wait_briefly(connection)
    # Excludes another creation or a drop; posts and reads continue.
    connection.execute(sa.text("LOCK TABLE ONLY entries IN SHARE UPDATE EXCLUSIVE MODE"))
    if _overlaps(month, partitions(connection)):
        return False
    # Posts of ids without a partition wait, so that none is left behind.
    connection.execute(sa.text(f"LOCK TABLE {DEFAULT} IN SHARE ROW EXCLUSIVE MODE"))
    of_month = f"FROM {DEFAULT} WHERE event_id >= '{month.start}' AND event_id < '{month.end}'"
    some = f"SELECT 1 {of_month} LIMIT {MOVED_LIMIT + 1}"
    count = connection.scalar(sa.text(f"SELECT count(*) FROM ({some}) AS of_month")) or 0  # noqa: S608 - names of ours
    if count > MOVED_LIMIT:
        logger.warning("%s is not created: its entries stay in %s", month.name, DEFAULT)
        return False
    connection.execute(sa.text(f"CREATE TABLE {month.name} (LIKE entries INCLUDING ALL)"))
    if count:
        moved = f"WITH moved AS (DELETE {of_month} RETURNING *)"
        connection.execute(sa.text(f"{moved} INSERT INTO {month.name} SELECT * FROM moved"))  # noqa: S608 - names of ours
    bounds = f"FOR VALUES FROM ('{month.start}') TO ('{month.end}')"
    connection.execute(sa.text(f"ALTER TABLE entries ATTACH PARTITION {month.name} {bounds}"))
    return True


def drop_older(engine: Engine, until_ms: int) -> Iterator[int]:
    """Drop the partitions whose requests all started before `until_ms`; yield their entry counts.

    A partition with a newer request, or one that is in use for ATTEMPTS times WAIT_S, stays.
    Raises: LedgerUnavailable; the partitions so far are dropped.
    """
    with reading(engine) as connection:
        old = [it for it in partitions(connection) if it.end <= first_id(until_ms)]
    for it in old:
        with reading(engine) as connection:
            if it not in partitions(connection):  # another prune was faster
                continue
            without_time_limit(connection)
            count = connection.scalar(sa.text(f"SELECT count(*) FROM {it.name}")) or 0  # noqa: S608 - a name of ours
        if _dropped(engine, it, until_ms) and count:
            yield count


def _dropped(engine: Engine, old: Partition, until_ms: int) -> bool:
    for attempt in range(ATTEMPTS):
        try:
            return write(engine, partial(_drop, old, until_ms))
        except LedgerUnavailable as exc:
            if not is_lock_timeout(exc):
                raise
            logger.warning("%s is in use, attempt %d to drop it", old.name, attempt + 1)
        pause()  # lets the statements that waited behind this one run
    return False


def _drop(old: Partition, until_ms: int, connection: Connection) -> bool:
    _wait_briefly(connection)
    # The parent first, as posts do, to avoid deadlocks.
    connection.execute(sa.text("LOCK TABLE ONLY entries IN ACCESS EXCLUSIVE MODE"))
    if old not in partitions(connection):
        return False
    newer = f"SELECT EXISTS (SELECT 1 FROM {old.name} WHERE started_at_ms >= {until_ms})"  # noqa: S608 - a name of ours
    if connection.scalar(sa.text(newer)):
        return False
    connection.execute(sa.text(f"DROP TABLE {old.name}"))
    return True


def _wait_briefly(connection: Connection) -> None:
    connection.execute(sa.text(f"SET LOCAL lock_timeout = '{WAIT_S}s'"))
