"""Finds usage without a known price, by vendor, model and service tier."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, func, select

from app.ledger.entry_calls import entry_calls
from app.ledger.measures import IS_EMPTY
from app.pricing.price_book import NO_PRICES, PriceBook
from app.storage.sql.postgresql import without_time_limit
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import USAGE_COUNTS, Usage


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Requests of one model at one vendor without a price, in one service tier.

    The model may have a price, but not for all that was used: images that it drew, for example.
    `asked` is a name that callers requested the model by. If a request took several calls, each
    call counts as a request.
    """

    vendor: str
    model: str
    service_tier: str | None
    asked: str
    requests: int
    used: Usage
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
            self.used + other.used,
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
        without_time_limit(connection)
        for it in (*_single_calls(connection, without), *_several_calls(connection, without, book)):
            found[it.key] = found[it.key] + it if it.key in found else it
    return sorted(found.values(), key=lambda it: (-it.used.total_tokens, it.key))


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
            func.max(entries.c.started_at_ms),
            *(func.sum(entries.c[name]) for name in USAGE_COUNTS),
        )
        .where(*without, entries.c.calls.is_(None))
        .group_by(vendor, model, entries.c.service_tier)
    )
    for row in connection.execute(statement):
        used = Usage(**dict(zip(USAGE_COUNTS, map(int, row[6:]), strict=True)))
        yield Unpriced(row[0], row[1], row[2], row[3], row[4], used, row[5])


def _several_calls(
    connection: Connection, without: tuple[ColumnElement[bool], ...], book: PriceBook
) -> Iterator[Unpriced]:
    for calls, at_ms, _ in entry_calls(connection, *without):
        for call in [it for it in calls if not _is_known(book, it, at_ms)] or calls:
            model, used = call.model_served or call.model, call.usage
            yield Unpriced(call.vendor, model, call.service_tier, call.model, 1, used, at_ms)


def _is_known(book: PriceBook, call: CallUsage, at_ms: int) -> bool:
    names = (call.model_served, call.model) if call.model_served else (call.model,)
    price = book.price(call.vendor, *names, at_ms=at_ms, tier=call.service_tier)
    return price is not None and price.cost_nanousd(call.usage) is not None
