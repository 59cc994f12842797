"""Usage without a known price, by vendor, model and service tier."""

from dataclasses import replace
from pathlib import Path

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.reader import UsageReader
from app.ledger.repricing import reprice
from app.ledger.unpriced import Unpriced, unpriced
from app.pricing.price_book import NO_PRICES, PriceBook, load_prices
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.ledger.ledgers import DAY, MIDNIGHT_S, at

START_MS, END_MS = MIDNIGHT_S * 1000, (MIDNIGHT_S + 3600) * 1000
#: What `at` uses.
ONE = Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)


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
        Unpriced(
            "azure", "y-1", None, "w", 2, replace(ONE + ONE, total_tokens=14), START_MS + 9_000
        ),
        Unpriced("openai", "x", None, "x", 1, ONE, START_MS),
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
        Unpriced("x", "m", "flex", "m", 3, usage + usage + usage, START_MS + 7_000)
    ]
    path.write_text(path.read_text() + path.read_text() + 'service_tier = "flex"\n')
    found = unpriced(engine, START_MS, END_MS, load_prices(path))
    assert [(it.service_tier, it.requests) for it in found] == [("flex", 3), (None, 1)]


def test_a_model_with_a_price_is_listed_if_it_lacks_that_of_its_images(
    engine: Engine, tmp_path: Path
) -> None:
    path, row = tmp_path / "own.toml", '[[prices]]\nmodel = "openai/m"\ninput = 2\noutput = 12\n'
    path.write_text(row)
    counts = {"prompt_tokens": 10, "completion_tokens": 1_320, "total_tokens": 1_330}
    drawn = at(0, **counts, model_served="m", image_completion_tokens=1_120, reasoning_tokens=200)
    calls = (CallUsage.of("openai", "m", None, None, drawn.usage),)
    book = load_prices(path)
    Ledger(engine, book).post([drawn, at(1), at(2, **counts, calls=calls)])
    (found,) = unpriced(engine, START_MS, END_MS, book)
    assert (found.requests, found.used.image_completion_tokens) == (2, 2_240)
    path.write_text(f"{row}output_image = 120\n")
    list(reprice(engine, load_prices(path), START_MS, END_MS))
    assert unpriced(engine, START_MS, END_MS, book) == []
    (total,) = UsageReader(engine).rows(DAY)
    assert total.cost_nanousd == 2 * 136_820_000 + 3 * 2_000 + 2 * 12_000


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
