"""What a finished request is charged against its limits and budgets. No I/O."""

from app.admission.reservations import Charge
from app.pricing.price_book import PriceBook
from app.usage.cost import cost_of
from app.usage.messages.event import UsageEvent


def charge_of(event: UsageEvent, prices: PriceBook) -> Charge:
    """Return the charge that replaces the request's reservation; an unknown price costs nothing."""
    return Charge(event.total_tokens, cost_of(event, prices).nanousd or 0)
