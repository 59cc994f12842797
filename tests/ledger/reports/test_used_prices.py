"""The rates that an entry was priced with, on both databases."""

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.lookup import RequestLookup
from app.ledger.reports.used_prices import UsedPrice, read_used_prices
from app.pricing.price import EffectivePeriod, Price, PriceHistory, complete_rates
from app.pricing.price_book import PriceBook
from app.usage.messages.call_usage import CallUsage
from app.usage.messages.event import UsageEvent
from app.vocabulary.money import NANO
from tests.support.events import usage_event

_CHEAP, _DEAR = (complete_rates({"input": it * NANO, "output": 2 * it * NANO}) for it in (1, 3))


def history(name: str) -> PriceHistory:
    """Return a price that is higher for prompts of more than 100 tokens."""
    price = Price(f"list/{name}", ((-1, _CHEAP), (100, _DEAR)))
    return PriceHistory(((EffectivePeriod(), price),))


PRICES = PriceBook(lambda _, models, _tier: history(models[0]))


def prices_of(engine: Engine, event: UsageEvent) -> list[UsedPrice]:
    (entry,) = RequestLookup(engine).find(event.event_id)
    return read_used_prices(engine, entry)


def test_the_rates_are_those_of_the_prompts_tier(engine: Engine) -> None:
    short, long = usage_event(prompt_tokens=100), usage_event(prompt_tokens=101)
    Ledger(engine, PRICES).post([short, long])
    assert [it.rates["input"] for it in prices_of(engine, short)] == [NANO]
    (price,) = prices_of(engine, long)
    assert (price.rates["input"], price.rates["output"]) == (3 * NANO, 6 * NANO)
    assert price.name.startswith("list/")


def test_each_price_of_several_calls_is_found(engine: Engine) -> None:
    calls = (CallUsage("openai", "a", "a", prompt_tokens=5), CallUsage("openai", "b+c", "b+c"))
    event = usage_event(calls=calls)
    Ledger(engine, PRICES).post([event])
    assert [it.name for it in prices_of(engine, event)] == ["list/a", "list/b+c"]


def test_an_unknown_price_has_no_rates(engine: Engine) -> None:
    event = usage_event()
    Ledger(engine).post([event])
    assert prices_of(engine, event) == []
