"""Usage without a known price, by vendor, model and service tier."""

from pathlib import Path

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.unpriced import Unpriced, unpriced
from app.pricing.price_book import NO_PRICES, PriceBook, load_prices
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.ledger.ledgers import MIDNIGHT_S, at

START_MS, END_MS = MIDNIGHT_S * 1000, (MIDNIGHT_S + 3600) * 1000


def test_usage_without_a_price_is_listed_by_the_vendor_that_served_it(
    engine: Engine, prices: PriceBook
) -> None:
    Ledger(engine, prices).post(
        [
            at(0, model="x", vendor_served="azure", model_served="y-1"),
            at(9, model="w", vendor_served="azure", model_served="y-1", total_tokens=9),
            at(0, model="x", vendor_served=None, model_served=None),
            at(0, model="m", model_served="m"),
            at(-1, model="x"),
            at(3600, model="x"),
        ]
    )
    assert unpriced(engine, START_MS, END_MS) == [
        Unpriced("azure", "y-1", None, "w", 2, 14, START_MS + 9_000),
        Unpriced("openai", "x", None, "x", 1, 5, START_MS),
    ]


def test_service_tiers_are_listed_separately(engine: Engine) -> None:
    Ledger(engine).post([at(0), at(0, service_tier="flex"), at(0, service_tier="flex")])
    found = unpriced(engine, START_MS, END_MS)
    assert [(it.service_tier, it.requests) for it in found] == [("flex", 2), (None, 1)]


def test_a_request_that_used_nothing_needs_no_price(engine: Engine) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    Ledger(engine).post([at(0, status="failed", **nothing)])
    assert unpriced(engine, START_MS, END_MS) == []


def test_of_several_calls_those_without_a_price_are_listed(engine: Engine, tmp_path: Path) -> None:
    usage = Usage(prompt_tokens=2, total_tokens=2)
    calls = tuple(CallUsage.of("x", "m", None, tier, usage) for tier in (None, "flex", "flex"))
    Ledger(engine, NO_PRICES).post([at(0, calls=calls), at(7, calls=calls[1:2])])
    path = tmp_path / "own.toml"
    path.write_text('[[prices]]\nmodel = "x/m"\ninput = 1\noutput = 1\n')
    assert unpriced(engine, START_MS, END_MS, load_prices(path)) == [
        Unpriced("x", "m", "flex", "m", 3, 6, START_MS + 7_000)
    ]
    path.write_text(path.read_text() + path.read_text() + 'service_tier = "flex"\n')
    found = unpriced(engine, START_MS, END_MS, load_prices(path))
    assert [(it.service_tier, it.requests) for it in found] == [("flex", 3), (None, 1)]


def test_a_call_without_a_price_is_listed_by_what_served_it_and_what_was_asked_for(
    engine: Engine, prices: PriceBook
) -> None:
    usage = Usage(prompt_tokens=7, total_tokens=7)
    calls = (
        CallUsage.of("x", "alias", "served-1", None, usage),
        CallUsage.of("x", "own", None, None, usage),
    )
    Ledger(engine, prices).post([at(0, calls=calls)])
    found = unpriced(engine, START_MS, END_MS)
    assert sorted((it.model, it.asked) for it in found) == [("own", "own"), ("served-1", "alias")]
