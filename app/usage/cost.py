"""The cost of a request: the sum of its calls, each priced as its vendor served it. No I/O."""

from collections.abc import Sequence
from typing import NamedTuple

from app.pricing.kinds import Tokens
from app.pricing.price import Price
from app.pricing.price_book import PriceBook
from app.usage.messages.event import UsageEvent


class Served(NamedTuple):
    """A call that used tokens, and everything that its price depends on, as in `CallUsage`."""

    vendor: str
    model: str
    model_served: str | None
    service_tier: str | None
    tokens: Tokens


class Cost(NamedTuple):
    """The cost of a request in nano-dollars, and the prices applied; None if unknown.

    A request that used nothing has no cost, and is not part of any sum.
    """

    nanousd: int | None = None
    prices: tuple[Price, ...] = ()

    @property
    def price_id(self) -> str | None:
        """The names of the prices in the ledger, joined by `+`; None if there are none."""
        return "+".join(price.price_id for price in self.prices) or None


#: The cost of a request that used nothing, or whose price is unknown.
NO_COST = Cost()


def cost_of(event: UsageEvent, prices: PriceBook) -> Cost:
    """Return the cost of a request; NO_COST if it used nothing or a price is unknown.

    A price is also unknown if the model has one, but not of all that was used.
    """
    if event.is_empty:
        return NO_COST
    at_ms = event.started_at_ms
    if event.calls:
        calls = [
            Served(it.vendor, it.model, it.model_served, it.service_tier, it.usage)
            for it in event.calls
        ]
        return cost_of_calls(calls, prices, at_ms)
    vendor, tier = event.vendor_served or event.vendor, event.service_tier
    return _cost(Served(vendor, event.model, event.model_served, tier, event), prices, at_ms)


def cost_of_calls(calls: Sequence[Served], prices: PriceBook, at_ms: int) -> Cost:
    """Return the cost of a request that began at `at_ms` and made these calls, at least one.

    NO_COST if a price is unknown: a part is not the sum.
    """
    if len(calls) == 1:
        return _cost(calls[0], prices, at_ms)
    nanousd, applied = 0, dict[Price, None]()
    for call in calls:
        cost = _cost(call, prices, at_ms)
        if cost.nanousd is None:
            return NO_COST
        nanousd += cost.nanousd
        applied.update(dict.fromkeys(cost.prices))
    return Cost(nanousd, tuple(applied))


def _cost(call: Served, prices: PriceBook, at_ms: int) -> Cost:
    # The model's names, the most reliable first: as served, then as requested.
    names = (call.model_served, call.model) if call.model_served else (call.model,)
    price = prices.served(call.vendor, names, call.service_tier, at_ms)
    if price is None or (nanousd := price.cost_nanousd(call.tokens)) is None:
        return NO_COST
    return Cost(nanousd, (price,))
