"""The lines of an invoice: an account's requests by model, unit price and API key.

Reads entries, which store their prices; for days whose entries were pruned, rollups, which do not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, RowMapping, Select, Subquery, case, func, select

from app.ledger.invoices.unit_prices import UnitPrice, UnitPrices
from app.ledger.measures import ENTRY_MEASURES, IS_EMPTY
from app.ledger.reports.query import UsageRow
from app.storage.sql.tables import entries
from app.vocabulary.completion import Usage

#: Kind of token -> tokens. No token has two kinds, and each kind has a unit price.
Tokens = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceLine:
    """Requests for one model at one unit price; `api_key_id` None: of all keys.

    `prices` are several if the requests took several calls, and () if the price is unknown or, with
    `is_pruned`, no longer stored. `cost_nanousd` is the exact cost of the requests that have a
    price, None if none has one. `failed`, `estimated` and `unpriced` are included in `requests`.
    `first_ms` and `last_ms` are the starts of the first and the last request, in Unix ms.
    """

    vendor: str
    model: str
    api_key_id: str | None
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
        return (*self.place[:4], self.is_pruned, prices)

    @property
    def place(self) -> tuple[Any, ...]:
        """Where the line is shown: by model and key, then by the first request."""
        model = (self.vendor, self.model, self.api_key_id or "")
        return (*model, self.cost_nanousd is None, self.first_ms)

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
    connection: Connection, account_id: str, span_s: tuple[int, int], *, by_key: bool
) -> Iterator[InvoiceLine]:
    """Yield the lines of an account's entries in a range (Unix seconds), in any order.

    Several lines may have the same key. Requests without usage have no line.
    """
    prices = UnitPrices.load(connection)
    statement = _statement(account_id, span_s, prices.thresholds(), by_key=by_key)
    for row in connection.execute(statement).mappings():
        yield _line(row, prices)


def line_of_rollup(row: UsageRow, span_s: tuple[int, int]) -> InvoiceLine:
    """Return the line of a group whose entries were pruned, in a range (Unix seconds)."""
    return InvoiceLine(
        vendor=row.vendor or "",
        model=row.model or "",
        api_key_id=row.api_key_id,
        prices=(),
        is_pruned=True,
        requests=row.requests - row.empty_requests,
        failed=max(0, row.failed_requests - row.empty_requests),
        estimated=row.estimated_requests,
        unpriced=row.unpriced_requests,
        tokens=_tokens(row.usage),
        cost_nanousd=row.known_cost_nanousd,
        first_ms=span_s[0] * 1000,
        last_ms=span_s[1] * 1000 - 1,
    )


def _tokens(usage: Usage) -> Tokens:
    """Return each kind's tokens, as `_kinds` divides those of an entry."""
    audio, written = usage.audio_prompt_tokens, usage.cache_write_tokens
    beyond = usage.cached_tokens + written + audio - usage.prompt_tokens
    both = max(0, min(audio, usage.cached_tokens, beyond))
    output = usage.completion_tokens - usage.reasoning_tokens - usage.audio_completion_tokens
    return {
        "input": max(0, both - beyond),
        "cached": usage.cached_tokens - both,
        "cache_write": written,
        "input_audio": audio - both,
        "cached_audio": both,
        "output": max(0, output),
        "reasoning": usage.reasoning_tokens,
        "output_audio": usage.audio_completion_tokens,
    }


def _line(row: RowMapping, prices: UnitPrices) -> InvoiceLine:
    several = bool(row["several_calls"])
    is_priced = bool(row["is_priced"])
    requests = int(row["requests"])
    return InvoiceLine(
        vendor=row["vendor"],
        model=row["model"],
        api_key_id=row["api_key_id"],
        prices=prices.applied(row["price_id"], row["threshold"], several_calls=several),
        is_pruned=False,
        requests=requests,
        failed=int(row["failed_requests"]),
        estimated=int(row["estimated_requests"]),
        unpriced=0 if is_priced else requests,
        tokens={kind: int(row[kind]) for kind in _KINDS},
        cost_nanousd=int(row["cost_nanousd"]) if is_priced else None,
        first_ms=row["first_ms"],
        last_ms=row["last_ms"],
    )


_GROUPS = ("vendor", "model", "api_key_id", "price_id", "threshold", "several_calls", "is_priced")
_COUNTS = ("requests", "failed_requests", "estimated_requests", "cost_nanousd")


def _statement(
    account_id: str, span_s: tuple[int, int], thresholds: list[int], *, by_key: bool
) -> Select[Any]:
    each = _each(account_id, span_s, thresholds, by_key=by_key)
    groups = [each.c[name] for name in _GROUPS]
    sums = [func.sum(each.c[name]).label(name) for name in (*_COUNTS, *_KINDS)]
    first, last = func.min(each.c.started_at_ms), func.max(each.c.started_at_ms)
    times = (first.label("first_ms"), last.label("last_ms"))
    return select(*groups, *sums, *times).group_by(*groups)


def _each(
    account_id: str, span_s: tuple[int, int], thresholds: list[int], *, by_key: bool
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
        (it.api_key_id if by_key else sa.null()).label("api_key_id"),
        it.price_id,
        it.started_at_ms,
        (case(*above, else_=0) if above else sa.literal(0)).label("threshold"),
        case((it.calls.is_(None), 0), else_=1).label("several_calls"),
        case((priced, 1), else_=0).label("is_priced"),
        *(measure for measure in ENTRY_MEASURES if measure.name in _COUNTS),
        *(kind.label(name) for name, kind in _KINDS.items()),
    )
    within = (it.started_at_ms >= start_ms, it.started_at_ms < end_ms)
    used = sa.or_(priced, ~IS_EMPTY)
    return select(*columns).where(it.account_id == account_id, *within, used).subquery()


def _least(*values: ColumnElement[int]) -> ColumnElement[int]:
    first, *others = values
    for other in others:
        first = case((other < first, other), else_=first)
    return first


def _at_least_0(value: ColumnElement[int]) -> ColumnElement[int]:
    return case((value > 0, value), else_=0)


def _kinds() -> dict[str, ColumnElement[int]]:
    """Return each kind's tokens of an entry, as `Price.cost_nanousd` divides them."""
    it = entries.c
    written, audio = it.cache_write_tokens, it.audio_prompt_tokens
    beyond = it.cached_tokens + written + audio - it.prompt_tokens
    both = _least(audio, it.cached_tokens, _at_least_0(beyond))
    reasoning, spoken = it.reasoning_tokens, it.audio_completion_tokens
    return {
        "input": _at_least_0(both - beyond),
        "cached": it.cached_tokens - both,
        "cache_write": written + 0,
        "input_audio": audio - both,
        "cached_audio": both,
        "output": _at_least_0(it.completion_tokens - reasoning - spoken),
        "reasoning": reasoning + 0,
        "output_audio": spoken + 0,
    }


_KINDS = _kinds()
