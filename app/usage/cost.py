"""The cost of a request: the sum of its calls, each priced as its vendor served it. No I/O."""

from collections.abc import Iterable
from typing import NamedTuple

from app.pricing.kinds import Tokens
from app.pricing.price import Price
from app.pricing.price_book import PriceBook
from app.usage.messages.call_usage import CallUsage
from app.usage.messages.event import UsageEvent


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
        return _sum(
            _cost(it.usage, prices.served(it.vendor, _names(it), it.service_tier, at_ms))
            for it in event.calls
        )
    vendor = event.vendor_served or event.vendor
    return _cost(event, prices.served(vendor, _names(event), event.service_tier, at_ms))


def _cost(tokens: Tokens, price: Price | None) -> Cost:
    if price is None or (nanousd := price.cost_nanousd(tokens)) is None:
        return NO_COST
    return Cost(nanousd, (price,))


def _names(served: UsageEvent | CallUsage) -> tuple[str, ...]:
    """Return the model's names, the most reliable first: as served, then as requested."""
    return (served.model_served, served.model) if served.model_served else (served.model,)


def _sum(costs: Iterable[Cost]) -> Cost:
    """Return the cost of several calls; NO_COST if one is unknown, since a part is not the sum."""
    nanousd, prices = 0, dict[Price, None]()
    for cost in costs:
        if cost.nanousd is None:
            return NO_COST
        nanousd += cost.nanousd
        prices.update(dict.fromkeys(cost.prices))
    return Cost(nanousd, tuple(prices))
