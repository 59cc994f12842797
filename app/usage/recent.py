"""The ledger's newest entries, one by one: what was asked, how it ended, and how long it took.

An entry holds no prompt and no answer. Knows no HTTP; sums are `app.usage.query`'s.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, func, select, tuple_

from app.database import reading
from app.tables import entries
from app.usage.event import Source, Status
from app.usage.query import UsageQuery, conditions

#: Entries that latencies are taken from: enough for a 99th percentile, and read in milliseconds.
SAMPLE = 5000


@dataclass(frozen=True, slots=True)
class Position:
    """Where a list of entries goes on: after this one, in the order of newest first."""

    started_at_ms: int
    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request that has ended, as the ledger has it; fields are those of a UsageEvent."""

    event_id: str
    request_id: str
    account_id: str
    api_key_id: str
    vendor: str
    model: str
    vendor_served: str | None
    stream: bool
    status: Status
    source: Source
    http_status: int | None
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    started_at_ms: int
    first_token_ms: int | None
    duration_ms: int
    cost_nanousd: int | None

    @property
    def position(self) -> Position:
        """Where it stands among others."""
        return Position(self.started_at_ms, self.event_id)


@dataclass(frozen=True, slots=True)
class Ending:
    """How one request ended at the vendor that served it, and how long it took."""

    vendor: str
    status: Status
    http_status: int | None
    first_token_ms: int | None
    duration_ms: int


@dataclass(frozen=True, slots=True)
class RecentReader:
    """The newest entries of one ledger; every method raises LedgerUnavailable.

    Of a UsageQuery, the range and the filters count; what it sums by does not.
    """

    engine: Engine

    def requests(
        self,
        query: UsageQuery,
        limit: int,
        *,
        statuses: frozenset[str] | None = None,
        after: Position | None = None,
    ) -> list[Request]:
        """Return up to `limit` requests, newest first, from `after` on."""
        statement = _newest(query, limit, *(entries.c[name] for name in _COLUMNS))
        if statuses is not None:
            statement = statement.where(entries.c.status.in_(sorted(statuses)))
        if after is not None:
            here = tuple_(entries.c.started_at_ms, entries.c.event_id)
            # The index knows times alone: the first condition is what it can use.
            statement = statement.where(
                entries.c.started_at_ms <= after.started_at_ms,
                here < (after.started_at_ms, after.event_id),
            )
        with reading(self.engine) as connection:
            return [Request(**row._mapping) for row in connection.execute(statement)]

    def endings(self, query: UsageQuery, limit: int = SAMPLE) -> list[Ending]:
        """Return how the last `limit` requests ended, newest first."""
        names = ("status", "http_status", "first_token_ms", "duration_ms")
        vendor = func.coalesce(entries.c.vendor_served, entries.c.vendor).label("vendor")
        statement = _newest(query, limit, vendor, *(entries.c[name] for name in names))
        with reading(self.engine) as connection:
            return [Ending(**row._mapping) for row in connection.execute(statement)]


_COLUMNS = tuple(Request.__dataclass_fields__)


def _newest(query: UsageQuery, limit: int, *columns: ColumnElement[Any]) -> Select[Any]:
    return (
        select(*columns)
        .where(
            entries.c.started_at_ms >= query.start_s * 1000,
            entries.c.started_at_ms < query.end_s * 1000,
            *conditions(query, entries),
        )
        .order_by(entries.c.started_at_ms.desc(), entries.c.event_id.desc())
        .limit(limit)
    )


def percentile(values: Sequence[int], percent: int) -> int | None:
    """Return the smallest value that `percent` of the values do not exceed; None of no values."""
    if not values:
        return None
    rank = max(1, math.ceil(len(values) * percent / 100))
    return sorted(values)[rank - 1]


def known(values: Iterable[int | None]) -> list[int]:
    """Return the values that there are."""
    return [value for value in values if value is not None]
