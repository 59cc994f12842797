"""Prices and usages for the tests of this room."""

from typing import Any

from app.pricing.price import Price
from app.pricing.rates import load_price
from app.vocabulary.completion import Usage


def price(**rates: Any) -> Price:
    """Return a price with these rates, in dollars per million tokens."""
    found = load_price("x/m", {"input": "1", "output": "10", **rates})
    assert found is not None
    return found


def usage(**counts: int) -> Usage:
    return Usage(**counts)
