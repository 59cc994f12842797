"""What a finished request is charged against its limits."""

from pathlib import Path

from app.admission.reservations import Charge
from app.pricing.price_book import NO_PRICES, load_prices
from app.usage.charge import charge_of
from app.usage.cost import NO_COST, Cost
from tests.support.events import usage_event


def test_a_charge_has_all_tokens_and_the_cost(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('[[prices]]\nmodel = "openai/m"\ninput = 1\noutput = 1\n')
    event = usage_event(model_served=None)
    assert charge_of(event, load_prices(path)) == Charge(5, 5_000)


def test_a_cost_that_is_known_is_not_computed_again() -> None:
    assert charge_of(usage_event(), NO_PRICES, Cost(7)) == Charge(5, 7)
    assert charge_of(usage_event(), NO_PRICES, NO_COST) == Charge(5, 0)


def test_an_unknown_price_charges_tokens_alone() -> None:
    assert charge_of(usage_event(), NO_PRICES) == Charge(5, 0)
