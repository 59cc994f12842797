"""The unit prices of entries."""

from app.ledger.invoices.unit_prices import UnitPrice, UnitPrices
from app.pricing.price import complete_rates

LOW, HIGH = complete_rates({"input": 1, "output": 2}), complete_rates({"input": 3, "output": 4})
FLAT, LONG = "file:x/flat+1#0123456789ab", "x/long#cdef01234567"
FLAT_PRICE = UnitPrice(FLAT, 0, LOW)
LONG_PRICES = (UnitPrice(LONG, 0, LOW), UnitPrice(LONG, 200_000, HIGH))
PRICES = UnitPrices({FLAT: (FLAT_PRICE,), LONG: LONG_PRICES})


def test_the_tier_of_a_prompts_length_applies() -> None:
    assert PRICES.thresholds() == [200_000]
    assert PRICES.applied(LONG, 0, several_calls=False) == LONG_PRICES[:1]
    assert PRICES.applied(LONG, 200_000, several_calls=False) == LONG_PRICES[1:]
    assert PRICES.applied(FLAT, 200_000, several_calls=False) == (FLAT_PRICE,)


def test_each_of_several_calls_may_have_its_own_tier_and_price() -> None:
    assert PRICES.applied(LONG, 0, several_calls=True) == LONG_PRICES
    assert PRICES.applied(f"{FLAT}+{LONG}", 0, several_calls=True) == (FLAT_PRICE, *LONG_PRICES)
    assert PRICES.applied(FLAT, 0, several_calls=True) == (FLAT_PRICE,)


def test_no_price_and_one_that_is_not_stored() -> None:
    assert PRICES.applied(None, 0, several_calls=False) == ()
    assert PRICES.applied("old#1", 0, several_calls=False) == (UnitPrice("old#1", 0, None),)
