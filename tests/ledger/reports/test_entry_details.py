"""Everything that the ledger has of one request, on both databases."""

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.entry_details import read_entries
from app.pricing.price import EffectivePeriod, Price, PriceHistory, complete_rates
from app.pricing.price_book import PriceBook
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.money import NANO
from tests.support.events import usage_event

_CHEAP, _DEAR = (complete_rates({"input": it * NANO, "output": 2 * it * NANO}) for it in (1, 3))


def history(name: str) -> PriceHistory:
    """Return a price that is higher for prompts of more than 100 tokens."""
    price = Price(f"list/{name}", ((-1, _CHEAP), (100, _DEAR)))
    return PriceHistory(((EffectivePeriod(), price),))


PRICES = PriceBook(lambda _, models, _tier: history(models[0]))


def test_a_request_has_its_columns_and_the_rates_of_its_tier(engine: Engine) -> None:
    event = usage_event(request_id="r", prompt_tokens=101, total_tokens=103)
    Ledger(engine, PRICES).post([event, usage_event(request_id="another")])
    (found,) = read_entries(engine, "r", None)
    assert found.columns["event_id"] == event.event_id
    assert found.counts["prompt_tokens"] == 101
    (price,) = found.prices
    assert price.name.startswith("list/")
    assert (price.rates["input"], price.rates["output"]) == (3 * NANO, 6 * NANO)
    assert found.calls == ()


def test_each_price_of_several_calls_is_found(engine: Engine) -> None:
    calls = (CallUsage("openai", "a", "a", prompt_tokens=5), CallUsage("openai", "b+c", "b+c"))
    Ledger(engine, PRICES).post([usage_event(request_id="r", calls=calls)])
    (found,) = read_entries(engine, "r", None)
    assert found.calls == calls
    assert [it.name for it in found.prices] == ["list/a", "list/b+c"]
    assert [it.rates["input"] for it in found.prices] == [NANO, NANO]


def test_only_visible_accounts_requests_are_found(engine: Engine) -> None:
    Ledger(engine).post([usage_event(request_id="r", account_id="acme")])
    assert len(read_entries(engine, "r", frozenset({"acme", "beta"}))) == 1
    assert read_entries(engine, "r", frozenset({"beta"})) == []
    assert read_entries(engine, "r", None)[0].prices == []
