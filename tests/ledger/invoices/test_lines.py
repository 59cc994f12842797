"""The lines of an invoice."""

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from sqlalchemy import Engine

from app.ledger.invoices.lines import (
    GroupBy,
    InvoiceLine,
    line_of_rollup,
    lines_of_entries,
    merged,
)
from app.ledger.posting import Ledger
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.pricing.price import PER_TOKENS
from app.pricing.price_book import PriceBook
from app.storage.sql.transactions import reading
from app.usage.cost import cost_of
from app.usage.messages.call_usage import CallUsage
from app.usage.messages.event import UsageEvent
from app.vocabulary.completion import Usage
from tests.ledger.invoices.events import NOVEMBER, book, request, requests
from tests.ledger.ledgers import empty_ledger

SPAN_S = NOVEMBER.start_s, NOVEMBER.end_s


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> PriceBook:
    folder: Path = tmp_path_factory.mktemp("prices")
    return book(folder)


def lines(
    engine: Engine, account_id: str = "acme", *, by: Sequence[GroupBy] = ()
) -> list[InvoiceLine]:
    with reading(engine) as connection:
        return merged(lines_of_entries(connection, account_id, SPAN_S, by=by))


def brief(line: InvoiceLine) -> tuple[str, list[int], int, int | None]:
    above = [it.above_prompt_tokens for it in line.prices]
    return line.model, above, line.requests, line.cost_nanousd


def test_a_model_has_a_line_for_each_price_and_each_length_of_prompts(
    engine: Engine, prices: PriceBook
) -> None:
    long = {"model": "long", "completion_tokens": 0}
    Ledger(engine, prices).post(
        [
            request(1),
            request(15.9),
            request(16),
            request(3, prompt_tokens=1_000, **long),
            request(2, prompt_tokens=1_001, **long),
            request(1, prompt_tokens=5_000, **long),
        ]
    )
    one, other = 3 * 1_000_000 + 2 * 3_000_500, 3 * 900_000 + 2 * 2_700_000
    assert [brief(it) for it in lines(engine)] == [
        ("long", [1_000], 2, 6_001 * 2_500_000),
        ("long", [0], 1, 1_000 * 1_250_000),
        ("m", [0], 2, 2 * one),
        ("m", [0], 1, other),
    ]


def test_requests_of_an_unknown_price_are_a_line_without_an_amount_and_empty_ones_are_on_none(
    engine: Engine, prices: PriceBook
) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "source": "none"}
    Ledger(engine, prices).post(
        [
            request(1, model="new", source="estimated", status="failed"),
            request(1, model="new"),
            request(1, model="m", status="failed", **nothing),
        ]
    )
    [line] = lines(engine)
    assert brief(line) == ("new", [], 2, None)
    assert (line.unpriced, line.failed, line.estimated) == (2, 1, 1)


def test_several_calls_at_one_price_are_on_its_line_and_at_several_prices_on_their_own(
    engine: Engine, prices: PriceBook
) -> None:
    def calls(*models: str) -> tuple[CallUsage, ...]:
        usage = Usage(prompt_tokens=800, total_tokens=800)
        return tuple(CallUsage.of("openai", it, it, None, usage) for it in models)

    Ledger(engine, prices).post(
        [
            request(1),
            request(1, prompt_tokens=1_600, calls=calls("m", "m")),
            request(1, prompt_tokens=1_600, calls=calls("m", "long")),
            request(1, model="long", prompt_tokens=1_600, calls=calls("long", "long")),
        ]
    )
    found = {(it.model, len(it.prices)): it.requests for it in lines(engine)}
    assert found == {("long", 2): 1, ("m", 1): 2, ("m", 3): 1}


def test_lines_may_be_by_key_and_have_the_times_of_their_requests(
    engine: Engine, prices: PriceBook
) -> None:
    Ledger(engine, prices).post(
        request(day, api_key_id=key) for day, key in ((3, "b"), (2, "a"), (5, "a"))
    )
    start_ms = NOVEMBER.start_s * 1000
    found = [
        (it.api_key_id, it.requests, it.first_ms, it.last_ms)
        for it in lines(engine, by=("api_key",))
    ]
    day_ms = 86_400_000
    assert found == [
        ("a", 2, start_ms + day_ms, start_ms + 4 * day_ms),
        ("b", 1, start_ms + 2 * day_ms, start_ms + 2 * day_ms),
    ]
    assert [it.api_key_id for it in lines(engine)] == [None]


def test_lines_may_be_by_endpoint(engine: Engine, prices: PriceBook) -> None:
    asked = [request(endpoint=it) for it in ("chat.completions", "completions", "chat.completions")]
    Ledger(engine, prices).post(asked)
    found = [(it.endpoint, it.requests) for it in lines(engine, by=("endpoint",))]
    assert found == [("chat.completions", 2), ("completions", 1)]
    assert [(it.endpoint, it.requests) for it in lines(engine)] == [(None, 3)]


@settings(max_examples=40)
@given(requests())
def test_tokens_times_unit_prices_are_the_amount_and_nothing_is_lost(
    prices: PriceBook, events: list[UsageEvent]
) -> None:
    with empty_ledger() as engine:
        Ledger(engine, prices).post(events)
        for account_id in ("acme", "beta"):
            own = [
                it
                for it in events
                if it.account_id == account_id
                and SPAN_S[0] <= it.started_at_ms // 1000 < SPAN_S[1]
                and not it.is_empty
            ]
            found = lines(engine, account_id, by=("api_key",))
            costs = [cost_of(it, prices).nanousd for it in own]
            assert sum(it.requests for it in found) == len(own)
            assert sum(it.unpriced for it in found) == costs.count(None)
            assert sum(it.cost_nanousd or 0 for it in found) == sum(it or 0 for it in costs)
            for line in found:
                assert _is_priced_by_its_unit_prices(line)


def _is_priced_by_its_unit_prices(line: InvoiceLine) -> bool:
    """Whether tokens times unit prices are the amount, but for the rounding of each request."""
    if line.cost_nanousd is None:
        return line.prices == ()
    [price] = line.prices
    assert price.rates is not None
    rates = asdict(price.rates)
    charged = {kind: count for kind, count in line.tokens.items() if count}
    exact = Fraction(sum(rates[kind] * count for kind, count in charged.items()), PER_TOKENS)
    return abs(exact - line.cost_nanousd) <= Fraction(line.requests, 2)


def test_a_pruned_line_has_the_tokens_and_the_amount_of_its_rollup(
    engine: Engine, prices: PriceBook
) -> None:
    Ledger(engine, prices).post(
        request(
            1,
            prompt_tokens=100,
            cached_tokens=60,
            audio_prompt_tokens=50,
            completion_tokens=9,
            reasoning_tokens=4,
        )
        for _ in range(2)
    )
    query = UsageQuery(*SPAN_S, group_by=("model",))
    [row] = UsageReader(engine).rows(query)
    line, [known] = line_of_rollup(row, SPAN_S), lines(engine)
    assert (line.tokens, line.cost_nanousd) == (known.tokens, known.cost_nanousd)
    assert (line.prices, line.is_pruned, line.requests) == ((), True, 2)
