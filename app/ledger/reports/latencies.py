"""Reads how requests ended and how long they took, over the whole range of a query.

From the table `latencies`; the last hours, which are not in it yet, are counted from entries. Does
not depend on HTTP.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, Engine, func, select

from app.ledger import histogram
from app.ledger.entry_times import Key, Sums, count_entries
from app.ledger.latencies import add_up
from app.ledger.latency_hours import marked_hours
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader, conditions
from app.ledger.retention import pruned_until_s
from app.ledger.slots import floor_to
from app.runtime.turns import give_turn
from app.storage.sql.tables import DAY_S, HOUR_S, entries, latencies
from app.storage.sql.transactions import reading

#: How many hours before the present one are counted from entries if posts have changed them.
LIVE_HOURS = 2

#: The most requests of a range of which those of a user or an endpoint are counted from entries,
#: which takes up to half a second then.
ENTRIES_LIMIT = 50_000

_NAMES = ("vendor", "model", "vendor_served", "status", "http_status")


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """Requests that ended in the same way: `status`, and the vendor's `http_status`, if any.

    `vendor` and `model` were requested; `vendor_served` responded. The histograms are of completed
    requests, in milliseconds.
    """

    vendor: str
    model: str
    vendor_served: str
    status: str
    http_status: int | None
    requests: int
    first_token: int
    duration: int


@dataclass(frozen=True, slots=True)
class LatencyReport:
    """Rows of whole hours: the query's range is widened to them; times are Unix seconds.

    `recorded` is how many requests there are in the range. If `rows` have fewer, because older ones
    are not computed or their entries were pruned, `since_s` is the start of those that are there.
    """

    start_s: int
    end_s: int
    rows: Sequence[LatencyRow]
    recorded: int
    since_s: int | None

    @property
    def requests(self) -> int:
        """The number of requests in `rows`."""
        return sum(row.requests for row in self.rows)

    @property
    def is_complete(self) -> bool:
        """Whether all requests of the range are in `rows`."""
        return self.requests >= self.recorded


@dataclass(frozen=True, slots=True)
class LatencyReader:
    """Reads one ledger."""

    engine: Engine

    def read(self, query: UsageQuery, now_s: float) -> LatencyReport | None:
        """Return a report of a query's range and filters; its buckets and groups are ignored.

        The table does not have users and endpoints: requests of some are counted from entries. None
        if that would read more than ENTRIES_LIMIT of them.
        Raises: LedgerUnavailable.
        """
        start_s = floor_to(query.start_s, HOUR_S)
        end_s = max(start_s, -(-query.end_s // HOUR_S) * HOUR_S)
        whole = replace(query, start_s=start_s, end_s=end_s, bucket_s=None, phase_s=0, group_by=())
        of_all = replace(whole, users=None, endpoints=None)
        if whole != of_all and self._count(of_all) > ENTRIES_LIMIT:
            return None
        # Read first: requests that are posted in between only make the rows more complete.
        recorded = self._count(whole)
        if whole != of_all:
            return self._of_entries(whole, recorded)
        live_s = self._live_from(start_s, end_s, now_s)
        with reading(self.engine) as connection:
            found = add_up(_read(connection, whole, live_s))
            rows = _rows(found)
            is_partial = sum(row.requests for row in rows) < recorded
            since_s = _first_hour(connection, whole, live_s) if is_partial else None
        return LatencyReport(start_s, end_s, rows, recorded, since_s)

    def _count(self, query: UsageQuery) -> int:
        return sum(row.requests for row in UsageReader(self.engine).rows(query))

    def _of_entries(self, query: UsageQuery, recorded: int) -> LatencyReport:
        with reading(self.engine) as connection:
            rows = _rows(_counted(connection, query, query.start_s))
            since_s = min(max(query.start_s, pruned_until_s(connection)), query.end_s)
        return LatencyReport(query.start_s, query.end_s, rows, recorded, since_s)

    def _live_from(self, start_s: int, end_s: int, now_s: float) -> int:
        """Return the hour from which on entries are counted."""
        first_s = max(start_s, floor_to(int(now_s), HOUR_S) - LIVE_HOURS * HOUR_S)
        hours = marked_hours(self.engine, first_s, end_s)
        return hours[-1].hour_s if hours else end_s


def _rows(found: Mapping[Key, Sums]) -> list[LatencyRow]:
    return [_row(key, sums) for key, sums in sorted(found.items()) if sums[0] > 0]


def _row(key: Key, sums: Sums) -> LatencyRow:
    vendor, model, served, status, http_status = key
    return LatencyRow(vendor, model, served, status, http_status or None, *sums)


def _read(connection: Connection, query: UsageQuery, live_s: int) -> Iterator[tuple[Key, Sums]]:
    for width_s, start_s, end_s in _slices(query.start_s, live_s):
        yield from _stored(connection, query, width_s, start_s, end_s)
    if live_s < query.end_s:
        yield from _counted(connection, query, live_s).items()


def _counted(connection: Connection, query: UsageQuery, start_s: int) -> dict[Key, Sums]:
    """Count the entries of a query from `start_s` on."""
    time_ms = entries.c.started_at_ms
    of_range = (time_ms >= start_s * 1000, time_ms < query.end_s * 1000)
    return count_entries(connection, _NAMES, (*of_range, *conditions(query, entries)))


def _slices(start_s: int, end_s: int) -> Iterator[tuple[int, int, int]]:
    """Yield the slots to read: their width, and the range of their starts."""
    first_day_s, last_day_s = -(-start_s // DAY_S) * DAY_S, floor_to(end_s, DAY_S)
    if first_day_s < last_day_s:
        yield HOUR_S, start_s, first_day_s
        yield DAY_S, first_day_s, last_day_s
        yield HOUR_S, last_day_s, end_s
    else:
        yield HOUR_S, start_s, end_s


def _stored(
    connection: Connection, query: UsageQuery, width_s: int, start_s: int, end_s: int
) -> Iterator[tuple[Key, Sums]]:
    table = latencies.c
    keys = [table[name] for name in _NAMES]
    joined = (func.aggregate_strings(table[name], " ") for name in ("first_token", "duration"))
    statement = select(*keys, func.sum(table.requests), *joined).group_by(*keys)
    where = _of_slots(query, width_s, start_s, end_s)
    for *key, requests, first_tokens, durations in connection.execute(statement.where(*where)):
        yield tuple(key), [int(requests), _added(first_tokens), _added(durations)]
        give_turn()  # thousands of histograms may take tens of milliseconds


def _added(texts: str) -> int:
    return sum(map(histogram.decode, texts.split()))


def _of_slots(
    query: UsageQuery, width_s: int, start_s: int, end_s: int
) -> list[ColumnElement[bool]]:
    table = latencies.c
    return [
        table.width_s == width_s,
        table.slot_s >= start_s,
        table.slot_s < end_s,
        *conditions(query, latencies),
    ]


def _first_hour(connection: Connection, query: UsageQuery, live_s: int) -> int:
    """Return the start of the first hour of the range that is counted."""
    where = _of_slots(query, HOUR_S, query.start_s, live_s)
    found = connection.scalar(select(func.min(latencies.c.slot_s)).where(*where))
    return live_s if found is None else int(found)
