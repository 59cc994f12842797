"""What a request cost: each of its calls by the prices of the vendor that served it. No I/O."""

from collections.abc import Iterable
from typing import NamedTuple

from app.pricing.price import Price, Tokens
from app.pricing.price_book import PriceBook
from app.usage.call_usage import CallUsage
from app.usage.event import UsageEvent


class Cost(NamedTuple):
    """What a request cost, and by which prices; None where that is not known.

    A request that used nothing has no cost: it is no part of any sum.
    """

    nanousd: int | None = None
    prices: tuple[Price, ...] = ()

    @property
    def price_id(self) -> str | None:
        """The prices' names in the ledger, which are several where calls went to several models."""
        return "+".join(price.price_id for price in self.prices) or None


#: Of a request that used nothing, or whose price is not known.
NO_COST = Cost()


def cost_of(event: UsageEvent, prices: PriceBook) -> Cost:
    """Return what a request cost; NO_COST if it used nothing, or if a price is not known."""
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
    return NO_COST if price is None else Cost(price.cost_nanousd(tokens), (price,))


def _names(served: UsageEvent | CallUsage) -> tuple[str, ...]:
    """Return the model's names, the surest first: as it was served, as it was asked for."""
    return (served.model_served, served.model) if served.model_served else (served.model,)


def _sum(costs: Iterable[Cost]) -> Cost:
    """Return the cost of several calls; NO_COST if one is not known: a part is not the sum."""
    nanousd, prices = 0, dict[Price, None]()
    for cost in costs:
        if cost.nanousd is None:
            return NO_COST
        nanousd += cost.nanousd
        prices.update(dict.fromkeys(cost.prices))
    return Cost(nanousd, tuple(prices))
