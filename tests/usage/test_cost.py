"""The cost of a request: the sum of its calls."""

from pathlib import Path

import pytest

from app.pricing.price_book import PriceBook, load_prices
from app.usage.cost import NO_COST, cost_of
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.support.events import usage_event

TEN = Usage(prompt_tokens=10, total_tokens=10)


@pytest.fixture
def book(tmp_path: Path) -> PriceBook:
    """Input tokens of `openai/m` cost 1,000 nano-dollars each, and of `groq/m` 2,000."""
    path = tmp_path / "prices.toml"
    rows = '[[prices]]\nmodel = "{}"\ninput = {}\noutput = 0\n'
    path.write_text(rows.format("openai/m", 1) + rows.format("groq/m", 2))
    return load_prices(path)


def test_a_request_costs_what_its_tokens_do_where_it_was_served(book: PriceBook) -> None:
    tokens = {"model_served": None, "prompt_tokens": 10, "completion_tokens": 0}
    assert cost_of(usage_event(**tokens), book).nanousd == 10_000
    assert cost_of(usage_event(**tokens, vendor_served="groq"), book).nanousd == 20_000
    assert cost_of(usage_event(**tokens, vendor_served=None), book).nanousd == 10_000


def test_a_served_model_without_a_price_has_the_price_of_the_requested_one(
    book: PriceBook,
) -> None:
    event = usage_event(model_served="m-of-tomorrow", prompt_tokens=10)
    assert cost_of(event, book).nanousd == 10_000


def test_calls_are_priced_one_by_one(book: PriceBook) -> None:
    calls = tuple(CallUsage.of(vendor, "m", None, None, TEN) for vendor in ("openai", "groq"))
    cost = cost_of(usage_event(calls=calls), book)
    assert cost.nanousd == 30_000
    assert cost.price_id is not None
    assert len(cost.price_id.split("+")) == len(cost.prices) == 2


def test_an_unknown_price_of_one_call_makes_the_cost_unknown(book: PriceBook) -> None:
    calls = tuple(CallUsage.of(vendor, "m", None, None, TEN) for vendor in ("openai", "nobody"))
    assert cost_of(usage_event(calls=calls), book) == NO_COST
    assert cost_of(usage_event(vendor="nobody", vendor_served=None), book) == NO_COST


def test_a_request_that_used_nothing_has_no_cost(book: PriceBook) -> None:
    event = usage_event(prompt_tokens=0, completion_tokens=0, total_tokens=0)
    assert cost_of(event, book) == NO_COST
    assert NO_COST.price_id is None
