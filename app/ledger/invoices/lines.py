"""The lines of an invoice: requests by model and unit price, and by API key or endpoint.

Reads entries, which store their prices; for days whose entries were pruned, rollups, which do not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import Connection, RowMapping, Select, Subquery, case, func, select

from app.ledger.invoices.entry_kinds import ENTRY_KINDS
from app.ledger.invoices.unit_prices import UnitPrice, UnitPrices
from app.ledger.measures import ENTRY_MEASURES, IS_EMPTY
from app.ledger.reports.query import UsageRow
from app.pricing.kinds import kinds_of
from app.storage.sql.tables import entries

#: Kind of token (`app.pricing.kinds`) -> tokens, or searches. Each kind has a unit price.
Tokens = Mapping[str, int]

#: What lines may be by, in addition to the model.
GroupBy = Literal["api_key", "endpoint"]

#: Its columns.
GROUP_COLUMNS: Mapping[GroupBy, str] = {"api_key": "api_key_id", "endpoint": "endpoint"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceLine:
    """Requests for one model at one unit price; `api_key_id` and `endpoint` None: of all of them.

    `prices` are several if the requests took several calls, and () if the price is unknown or, with
    `is_pruned`, no longer stored. `cost_nanousd` is the exact cost of the requests that have a
    price, None if none has one. `failed`, `estimated` and `unpriced` are included in `requests`.
    `first_ms` and `last_ms` are the starts of the first and the last request, in Unix ms.
    """

    vendor: str
    model: str
    api_key_id: str | None
    endpoint: str | None
    prices: tuple[UnitPrice, ...]
    is_pruned: bool
    requests: int
    failed: int
    estimated: int
    unpriced: int
    tokens: Tokens
    cost_nanousd: int | None
    first_ms: int
    last_ms: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells lines apart."""
        prices = tuple((it.price_id, it.above_prompt_tokens) for it in self.prices)
        return (*self.place[:5], self.is_pruned, prices)

    @property
    def place(self) -> tuple[Any, ...]:
        """Where the line is shown: by model, key and endpoint, then by the first request."""
        group = (self.vendor, self.model, self.api_key_id or "", self.endpoint or "")
        return (*group, self.cost_nanousd is None, self.first_ms)

    def __add__(self, other: "InvoiceLine") -> "InvoiceLine":
        """Return the sum of two lines with the same key."""
        both = None if self.cost_nanousd is None else self.cost_nanousd + (other.cost_nanousd or 0)
        return replace(
            self,
            requests=self.requests + other.requests,
            failed=self.failed + other.failed,
            estimated=self.estimated + other.estimated,
            unpriced=self.unpriced + other.unpriced,
            tokens={kind: count + other.tokens[kind] for kind, count in self.tokens.items()},
            cost_nanousd=both,
            first_ms=min(self.first_ms, other.first_ms),
            last_ms=max(self.last_ms, other.last_ms),
        )


def merged(lines: Iterable[InvoiceLine]) -> list[InvoiceLine]:
    """Return one line for each key, in the order in which they are shown."""
    found: dict[tuple[Any, ...], InvoiceLine] = {}
    for line in lines:
        found[line.key] = found[line.key] + line if line.key in found else line
    return sorted(found.values(), key=lambda line: (line.place, line.key))


def lines_of_entries(
    connection: Connection, account_id: str, span_s: tuple[int, int], *, by: Sequence[GroupBy]
) -> Iterator[InvoiceLine]:
    """Yield the lines of an account's entries in a range (Unix seconds), in any order.

    Several lines may have the same key. Requests without usage have no line.
    """
    prices = UnitPrices.load(connection)
    statement = _statement(account_id, span_s, prices.thresholds(), by=by)
    for row in connection.execute(statement).mappings():
        yield _line(row, prices)


def line_of_rollup(row: UsageRow, span_s: tuple[int, int]) -> InvoiceLine:
    """Return the line of a group whose entries were pruned, in a range (Unix seconds)."""
    return InvoiceLine(
        vendor=row.vendor or "",
        model=row.model or "",
        api_key_id=row.api_key_id,
        endpoint=row.endpoint,
        prices=(),
        is_pruned=True,
        requests=row.requests - row.empty_requests,
        failed=max(0, row.failed_requests - row.empty_requests),
        estimated=row.estimated_requests,
        unpriced=row.unpriced_requests,
        tokens=kinds_of(row.usage)._asdict(),
        cost_nanousd=row.known_cost_nanousd,
        first_ms=span_s[0] * 1000,
        last_ms=span_s[1] * 1000 - 1,
    )


def _line(row: RowMapping, prices: UnitPrices) -> InvoiceLine:
    several = bool(row["several_calls"])
    is_priced = bool(row["is_priced"])
    requests = int(row["requests"])
    return InvoiceLine(
        vendor=row["vendor"],
        model=row["model"],
        api_key_id=row["api_key_id"],
        endpoint=row["endpoint"],
        prices=prices.applied(row["price_id"], row["threshold"], several_calls=several),
        is_pruned=False,
        requests=requests,
        failed=int(row["failed_requests"]),
        estimated=int(row["estimated_requests"]),
        unpriced=0 if is_priced else requests,
        tokens={kind: int(row[kind]) for kind in ENTRY_KINDS},
        cost_nanousd=int(row["cost_nanousd"]) if is_priced else None,
        first_ms=row["first_ms"],
        last_ms=row["last_ms"],
    )


_SAME = ("price_id", "threshold", "several_calls", "is_priced")
_GROUPS = ("vendor", "model", *GROUP_COLUMNS.values(), *_SAME)
_COUNTS = ("requests", "failed_requests", "estimated_requests", "cost_nanousd")


def _statement(
    account_id: str, span_s: tuple[int, int], thresholds: list[int], *, by: Sequence[GroupBy]
) -> Select[Any]:
    each = _each(account_id, span_s, thresholds, by=by)
    groups = [each.c[name] for name in _GROUPS]
    sums = [func.sum(each.c[name]).label(name) for name in (*_COUNTS, *ENTRY_KINDS)]
    first, last = func.min(each.c.started_at_ms), func.max(each.c.started_at_ms)
    times = (first.label("first_ms"), last.label("last_ms"))
    return select(*groups, *sums, *times).group_by(*groups)


def _each(
    account_id: str, span_s: tuple[int, int], thresholds: list[int], *, by: Sequence[GroupBy]
) -> Subquery:
    """Return the entries that used tokens, with the columns to group by and to sum.

    A SELECT of its own, because PostgreSQL cannot group by an expression with parameters.
    """
    start_ms, end_ms = (it * 1000 for it in span_s)
    it, priced = entries.c, entries.c.cost_nanousd.is_not(None)
    above = [(it.prompt_tokens > number, number) for number in reversed(thresholds)]
    columns = (
        it.vendor,
        it.model,
        *(
            (it[name] if group in by else sa.null()).label(name)
            for group, name in GROUP_COLUMNS.items()
        ),
        it.price_id,
        it.started_at_ms,
        (case(*above, else_=0) if above else sa.literal(0)).label("threshold"),
        case((it.calls.is_(None), 0), else_=1).label("several_calls"),
        case((priced, 1), else_=0).label("is_priced"),
        *(measure for measure in ENTRY_MEASURES if measure.name in _COUNTS),
        *(kind.label(name) for name, kind in ENTRY_KINDS.items()),
    )
    within = (it.started_at_ms >= start_ms, it.started_at_ms < end_ms)
    used = sa.or_(priced, ~IS_EMPTY)
    return select(*columns).where(it.account_id == account_id, *within, used).subquery()
