"""Finds usage without a known price, by vendor, model and service tier."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, func, select

from app.ledger.entry_calls import entry_calls
from app.ledger.measures import IS_EMPTY
from app.pricing.price_book import NO_PRICES, PriceBook
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from app.usage.messages.call_usage import CallUsage


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Requests of one model at one vendor without a price, in one service tier.

    `asked` is a name that callers requested the model by. If a request took several calls, each
    call counts as a request.
    """

    vendor: str
    model: str
    service_tier: str | None
    asked: str
    requests: int
    tokens: int
    last_started_at_ms: int

    @property
    def key(self) -> tuple[str, str, str]:
        """The group's identity, by which groups sort."""
        return self.vendor, self.model, self.service_tier or ""

    def __add__(self, other: "Unpriced") -> "Unpriced":
        """Return the sum of two groups with the same key."""
        return Unpriced(
            self.vendor,
            self.model,
            self.service_tier,
            min(self.asked, other.asked),
            self.requests + other.requests,
            self.tokens + other.tokens,
            max(self.last_started_at_ms, other.last_started_at_ms),
        )


def unpriced(
    engine: Engine, start_ms: int, end_ms: int, book: PriceBook = NO_PRICES
) -> list[Unpriced]:
    """Return the models without a price that were used in a range, the most tokens first.

    If a request took several calls, the calls whose price `book` does not know are returned; if
    `book` now knows all of them, all calls are.
    Raises: LedgerUnavailable.
    """
    without = (
        entries.c.started_at_ms >= start_ms,
        entries.c.started_at_ms < end_ms,
        entries.c.cost_nanousd.is_(None),
        ~IS_EMPTY,
    )
    found: dict[tuple[str, str, str], Unpriced] = {}
    with reading(engine) as connection:
        for it in (*_single_calls(connection, without), *_several_calls(connection, without, book)):
            found[it.key] = found[it.key] + it if it.key in found else it
    return sorted(found.values(), key=lambda it: (-it.tokens, it.key))


def _single_calls(
    connection: Connection, without: tuple[ColumnElement[bool], ...]
) -> Iterator[Unpriced]:
    vendor = func.coalesce(entries.c.vendor_served, entries.c.vendor)
    model = func.coalesce(entries.c.model_served, entries.c.model)
    statement = (
        select(
            vendor,
            model,
            entries.c.service_tier,
            func.min(entries.c.model),
            func.count(),
            func.sum(entries.c.total_tokens),
            func.max(entries.c.started_at_ms),
        )
        .where(*without, entries.c.calls.is_(None))
        .group_by(vendor, model, entries.c.service_tier)
    )
    for row in connection.execute(statement):
        yield Unpriced(row[0], row[1], row[2], row[3], row[4], int(row[5]), row[6])


def _several_calls(
    connection: Connection, without: tuple[ColumnElement[bool], ...], book: PriceBook
) -> Iterator[Unpriced]:
    for calls, at_ms, _ in entry_calls(connection, *without):
        for call in [it for it in calls if not _is_known(book, it, at_ms)] or calls:
            model, tokens = call.model_served or call.model, call.usage.total_tokens
            yield Unpriced(call.vendor, model, call.service_tier, call.model, 1, tokens, at_ms)


def _is_known(book: PriceBook, call: CallUsage, at_ms: int) -> bool:
    names = (call.model_served, call.model) if call.model_served else (call.model,)
    return book.price(call.vendor, *names, at_ms=at_ms, tier=call.service_tier) is not None
