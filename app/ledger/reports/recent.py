"""Reads the ledger's newest entries one by one.

Entries contain no prompts and no completions. Does not depend on HTTP. `reader` reads totals, and
`latencies` how requests ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, select, tuple_, union_all

from app.ledger.reports.narrowing import places
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import conditions
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from app.usage.messages.event import SideSource, Source, sides_of
from app.vocabulary.statuses import Status

#: Up to this many accounts are read one by one through an index; more are sorted together.
SINGLE_ACCOUNTS_LIMIT = 50


@dataclass(frozen=True, slots=True)
class Position:
    """The entry after which a list continues, in the order of newest first."""

    started_at_ms: int
    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One finished request; its fields are those of UsageEvent, and its cost."""

    event_id: str
    request_id: str
    account_id: str
    api_key_id: str
    user: str | None
    endpoint: str
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
    web_search_calls: int
    started_at_ms: int
    first_token_ms: int | None
    duration_ms: int
    cost_nanousd: int | None
    error_code: str | None

    @property
    def is_empty(self) -> bool:
        """Whether the request used nothing, and so has no cost."""
        return not (self.prompt_tokens or self.completion_tokens or self.web_search_calls)

    @property
    def guessed_prompt(self) -> bool:
        """Whether Tollgate estimated the prompt's tokens."""
        return (self.prompt_source or sides_of(self.source)) == "estimated"

    @property
    def guessed_completion(self) -> bool:
        """Whether Tollgate estimated the completion's tokens."""
        return (self.completion_source or sides_of(self.source)) == "estimated"

    @property
    def position(self) -> Position:
        """The request's place in the order of entries."""
        return Position(self.started_at_ms, self.event_id)


@dataclass(frozen=True, slots=True)
class RecentReader:
    """Reads the newest entries of one ledger; every method raises LedgerUnavailable.

    Methods use a query's range and filters, and ignore its buckets and groups.
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
        """Return up to `limit` requests, newest first, after the position `after`.

        `statuses` None includes all.
        """
        if statuses is not None:
            query = replace(query, statuses=statuses)
        more: list[ColumnElement[bool]] = []
        end_s = query.end_s
        if after is not None:
            # The index contains only times, so the first condition is the one that it serves.
            more.append(entries.c.started_at_ms <= after.started_at_ms)
            here = tuple_(entries.c.started_at_ms, entries.c.event_id)
            more.append(here < (after.started_at_ms, after.event_id))
            end_s = after.started_at_ms // 1000 + 1
        found: list[Request] = []
        with reading(self.engine) as connection:
            for place in places(connection, query, end_s, limit):
                statement = _newest(query, limit - len(found), _COLUMNS, [*more, place])
                found += [Request(**row._mapping) for row in connection.execute(statement)]
                if len(found) >= limit:
                    break
        return found


_COLUMNS = tuple(Request.__dataclass_fields__)
_ORDER = ("started_at_ms", "event_id")


def _newest(
    query: UsageQuery,
    limit: int,
    names: Sequence[str],
    more: Sequence[ColumnElement[bool]] = (),
) -> Select[Any]:
    """Return a SELECT of the newest entries, newest first.

    The index orders one account's entries by time, but not the entries of several accounts. So the
    newest entries of each account are selected first, and then the newest of those.
    """
    account_ids = query.account_ids
    if account_ids is None or not 1 < len(account_ids) <= SINGLE_ACCOUNTS_LIMIT:
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
