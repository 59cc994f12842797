"""What a finished request is charged against its limits and budgets. No I/O."""

from app.admission.reservations import Charge
from app.pricing.price_book import PriceBook
from app.usage.cost import Cost, cost_of
from app.usage.messages.event import UsageEvent


def charge_of(event: UsageEvent, prices: PriceBook, cost: Cost | None = None) -> Charge:
    """Return the charge that replaces the request's reservation; an unknown price costs nothing.

    `cost` is the event's cost if it has been computed already.
    """
    known = cost_of(event, prices) if cost is None else cost
    return Charge(event.total_tokens, known.nanousd or 0)
