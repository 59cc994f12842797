"""The ledger's newest entries, one by one: what was asked, how it ended, and how long it took.

An entry holds no prompt and no answer. Knows no HTTP; sums are `app.ledger.reports.query`'s.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, select, tuple_, union_all

from app.ledger.reports.query import UsageQuery, conditions
from app.storage.sql.database import reading
from app.storage.sql.tables import entries
from app.usage.event import SideSource, Source, Status, sides_of

#: Entries that latencies are taken from: enough for a 99th percentile, and read in milliseconds.
SAMPLE = 5000
#: Accounts that are looked up one by one; those of more are sorted together.
ACCOUNTS_APART = 50


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
    service_tier: str | None
    stream: bool
    status: Status
    source: Source
    prompt_source: SideSource | None
    completion_source: SideSource | None
    http_status: int | None
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    started_at_ms: int
    first_token_ms: int | None
    duration_ms: int
    cost_nanousd: int | None

    @property
    def is_empty(self) -> bool:
        """Whether it used nothing, and so has no cost to be known."""
        return not (self.prompt_tokens or self.completion_tokens)

    @property
    def guessed_prompt(self) -> bool:
        """Whether the prompt's tokens are our count."""
        return (self.prompt_source or sides_of(self.source)) == "estimated"

    @property
    def guessed_completion(self) -> bool:
        """Whether the completion's tokens are our count."""
        return (self.completion_source or sides_of(self.source)) == "estimated"

    @property
    def position(self) -> Position:
        """Where it stands among others."""
        return Position(self.started_at_ms, self.event_id)


@dataclass(frozen=True, slots=True)
class RequestOutcome:
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
        more: list[ColumnElement[bool]] = []
        if statuses is not None:
            more.append(entries.c.status.in_(sorted(statuses)))
        if after is not None:
            # The index knows times alone: the first condition is what it can use.
            more.append(entries.c.started_at_ms <= after.started_at_ms)
            here = tuple_(entries.c.started_at_ms, entries.c.event_id)
            more.append(here < (after.started_at_ms, after.event_id))
        statement = _newest(query, limit, _COLUMNS, more)
        with reading(self.engine) as connection:
            return [Request(**row._mapping) for row in connection.execute(statement)]

    def endings(self, query: UsageQuery, limit: int = SAMPLE) -> list[RequestOutcome]:
        """Return how the last `limit` requests ended, newest first."""
        statement = _newest(query, limit, _ENDING)
        with reading(self.engine) as connection:
            return [_ending(**row._mapping) for row in connection.execute(statement)]


_COLUMNS = tuple(Request.__dataclass_fields__)
_ENDING = ("vendor", "vendor_served", "status", "http_status", "first_token_ms", "duration_ms")
_ORDER = ("started_at_ms", "event_id")


def _ending(vendor: str, vendor_served: str | None, **others: Any) -> RequestOutcome:
    return RequestOutcome(vendor=vendor_served or vendor, **others)


def _newest(
    query: UsageQuery,
    limit: int,
    names: Sequence[str],
    more: Sequence[ColumnElement[bool]] = (),
) -> Select[Any]:
    """Return the newest entries; of several accounts, the newest of each account's newest.

    An index gives one account's entries in the order of time, and not those of several.
    """
    account_ids = query.account_ids
    if account_ids is None or not 1 < len(account_ids) <= ACCOUNTS_APART:
        parts = [query]
    else:
        parts = [replace(query, account_ids=frozenset({it})) for it in sorted(account_ids)]
    order = [entries.c[name] for name in _ORDER]
    columns = [entries.c[name] for name in dict.fromkeys((*names, *_ORDER))]
    selects = [_in_order(select(*columns).where(*_of(part), *more), order, limit) for part in parts]
    found = union_all(*(select(it.subquery()) for it in selects)).subquery()
    wanted = select(*(found.c[name] for name in names))
    return _in_order(wanted, [found.c[name] for name in _ORDER], limit)


def _of(query: UsageQuery) -> list[ColumnElement[bool]]:
    return [
        entries.c.started_at_ms >= query.start_s * 1000,
        entries.c.started_at_ms < query.end_s * 1000,
        *conditions(query, entries),
    ]


def _in_order(
    statement: Select[Any], order: Sequence[ColumnElement[Any]], limit: int
) -> Select[Any]:
    return statement.order_by(*(column.desc() for column in order)).limit(limit)


def percentile(values: Sequence[int], percent: int) -> int | None:
    """Return the smallest value that `percent` of the values do not exceed; None of no values."""
    if not values:
        return None
    rank = max(1, math.ceil(len(values) * percent / 100))
    return sorted(values)[rank - 1]


def known(values: Iterable[int | None]) -> list[int]:
    """Return the values that there are."""
    return [value for value in values if value is not None]
