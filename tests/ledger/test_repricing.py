"""Re-pricing: entries and rollups change together, and each re-pricing is recorded."""

from itertools import islice
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reconcile import day_ranges, differences
from app.ledger.reports.reader import UsageReader
from app.ledger.repricing import count_entries, past_repricings, reprice
from app.ledger.repricing_plan import RepricingBatch, Scope
from app.ledger.unpriced import unpriced
from app.pricing.price_book import NO_PRICES, PriceBook, load_prices
from app.storage.sql.tables import ROLLUP_TABLES, corrections, entries
from app.storage.sql.tables import prices as prices_table
from app.storage.sql.transactions import reading
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.ledger.ledgers import DAY, MIDNIGHT_S, at, rows
from tests.support.events import usage_event

START_MS, END_MS = MIDNIGHT_S * 1000, (MIDNIGHT_S + 3600) * 1000


def costs(engine: Engine) -> tuple[int, int]:
    """Return the cost and the unpriced requests of the day, by its rollups."""
    rows = UsageReader(engine).rows(DAY)
    return sum(it.cost_nanousd for it in rows), sum(it.unpriced_requests for it in rows)


def agrees(engine: Engine) -> bool:
    return not [it for days in day_ranges(engine) for it in differences(engine, days)]


def update(engine: Engine, book: PriceBook, batch_size: int = 7) -> list[RepricingBatch]:
    return list(reprice(engine, book, START_MS, END_MS, batch_size))


def test_entries_of_unknown_price_are_priced_once_it_is_known(
    engine: Engine, prices: PriceBook
) -> None:
    Ledger(engine, NO_PRICES).post(at(n, model="m", model_served="m") for n in range(20))
    assert costs(engine) == (0, 20)
    batches = update(engine, prices)
    assert [batch.examined for batch in batches] == [7, 7, 6]
    assert costs(engine) == (20 * 1_650, 0)
    assert agrees(engine)
    assert [batch.changed for batch in update(engine, prices)] == [0, 0, 0]
    latest, first = past_repricings(engine)
    assert (first.changed_entries, first.added_nanousd) == (20, 20 * 1_650)
    assert (first.start_ms, first.end_ms) == (START_MS, END_MS)
    assert (latest.changed_entries, latest.added_nanousd) == (0, 0)


def test_requests_outside_the_range_and_without_a_known_price_keep_their_cost(
    engine: Engine, prices: PriceBook
) -> None:
    known = {"model": "m", "model_served": "m"}
    Ledger(engine, NO_PRICES).post([at(-0.001, **known), at(3600, **known), at(0, model="new")])
    Ledger(engine, prices).post([at(1, **known)])
    before = costs(engine)
    assert count_entries(engine, START_MS, END_MS) == 2
    assert sum(batch.changed for batch in update(engine, prices)) == 0
    assert sum(batch.changed for batch in update(engine, NO_PRICES)) == 0
    assert costs(engine) == before
    assert agrees(engine)


def test_many_entries_of_one_instant_are_each_seen_once(engine: Engine, prices: PriceBook) -> None:
    Ledger(engine, NO_PRICES).post(at(5, model="m", model_served="m") for _ in range(20))
    assert sum(batch.changed for batch in update(engine, prices, 3)) == 20
    assert costs(engine) == (20 * 1_650, 0)


def test_the_effective_price_is_stored_with_the_entry(engine: Engine, prices: PriceBook) -> None:
    Ledger(engine, prices).post([at(0, model="m"), at(0, model="m"), at(0, model="free")])
    with reading(engine) as connection:
        kept = connection.execute(sa.select(prices_table)).all()
    assert {row.price_id.partition("#")[0] for row in kept} == {"file:openai/m", "file:openai/free"}
    assert all('"output":' in row.rates for row in kept)


def test_an_event_that_replaces_an_abandoned_one_brings_its_own_cost(
    engine: Engine, prices: PriceBook
) -> None:
    ledger, true = Ledger(engine, prices), at(0, model="m", model_served="m")
    guess = usage_event(
        **{name: getattr(true, name) for name in ("event_id", "started_at_ms", "model")},
        status="abandoned",
        source="estimated",
        prompt_tokens=9,
    )
    ledger.post([guess])
    assert costs(engine) == (9 * 150 + 2 * 600, 0)
    ledger.post([true])
    assert costs(engine) == (1_650, 0)
    assert agrees(engine)


def test_a_request_without_usage_has_no_cost_and_needs_no_price(
    engine: Engine, prices: PriceBook
) -> None:
    """A cost of 0 that an older version stored is removed by a re-pricing."""
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "status": "failed"}
    failed = at(0, model="m", **nothing)
    Ledger(engine, prices).post([failed, at(1, model="m", **nothing)])
    assert costs(engine) == (0, 0)
    assert unpriced(engine, START_MS, END_MS) == []
    with engine.execution_options(writes=True).begin() as connection:
        of = entries.c.event_id == failed.event_id
        connection.execute(sa.update(entries).where(of).values(cost_nanousd=0))
        zeros = {"priced_requests": 1, "empty_requests": 1}
        for table in ROLLUP_TABLES.values():
            connection.execute(sa.update(table).values(zeros))
    assert agrees(engine)
    assert sum(batch.changed for batch in update(engine, prices)) == 1
    assert agrees(engine)
    (row,) = UsageReader(engine).rows(DAY)
    assert (row.priced_requests, row.empty_requests, row.unpriced_requests) == (0, 2, 0)


def test_calls_are_repriced_separately_and_those_without_a_price_are_listed(
    engine: Engine, tmp_path: Path
) -> None:
    usage = Usage(prompt_tokens=150_000, total_tokens=150_000)
    two = tuple(CallUsage.of("x", "long", None, tier, usage) for tier in (None, "flex"))
    Ledger(engine, NO_PRICES).post([at(0, calls=two), at(1, calls=two[:1]), at(2, calls=two)])
    path, rows = tmp_path / "own.toml", '[[prices]]\nmodel = "x/*"\noutput = 0\ninput = '
    path.write_text(rows + "[[0, 1], [200000, 2]]\n")
    book = load_prices(path)
    assert [batch.changed for batch in update(engine, book)] == [1]
    assert costs(engine) == (150_000_000, 2)
    (lack,) = unpriced(engine, START_MS, END_MS, book)
    assert (lack.vendor, lack.model, lack.service_tier) == ("x", "long", "flex")
    assert (lack.requests, lack.used.total_tokens) == (2, 300_000)
    path.write_text(path.read_text() + rows + '0.5\nservice_tier = "flex"\n')
    found = unpriced(engine, START_MS, END_MS, load_prices(path))
    assert [(it.service_tier, it.requests) for it in found] == [(None, 2), ("flex", 2)]
    assert [batch.changed for batch in update(engine, load_prices(path))] == [2]
    assert costs(engine) == (150_000_000 + 2 * 225_000_000, 0)
    assert agrees(engine)


@pytest.mark.parametrize(
    ("scope", "changed"),
    [
        (Scope(), 4),
        (Scope(account_ids=frozenset({"a"})), 2),
        (Scope(models=frozenset({"openai/m"})), 2),
        (Scope(account_ids=frozenset({"a", "b"}), models=frozenset({"openai/dear"})), 2),
        (Scope(account_ids=frozenset({"b"}), models=frozenset({"openai/m"})), 1),
        (Scope(models=frozenset({"vllm/m"})), 0),
    ],
)
def test_a_re_pricing_can_be_narrowed_and_says_so_in_its_record(
    engine: Engine, prices: PriceBook, scope: Scope, changed: int
) -> None:
    Ledger(engine, NO_PRICES).post(
        at(0, account_id=account, model=model, model_served=model)
        for account in ("a", "b")
        for model in ("m", "dear")
    )
    assert count_entries(engine, START_MS, END_MS, scope) == (
        0 if scope.models == frozenset({"vllm/m"}) else changed
    )
    done = list(reprice(engine, prices, START_MS, END_MS, 1, scope=scope))
    assert sum(batch.changed for batch in done) == changed
    [record] = past_repricings(engine)
    assert (record.scope, record.changed_entries) == (scope, changed)
    assert costs(engine)[1] == 4 - changed
    assert agrees(engine)


def test_a_re_pricing_that_was_interrupted_is_finished_by_the_next_and_corrects_once(
    engine: Engine, prices: PriceBook
) -> None:
    known = {"model": "m", "model_served": "m"}
    Ledger(engine, NO_PRICES).post(at(n, account_id="a", **known) for n in range(20))
    Ledger(engine, NO_PRICES).post(at(n, account_id="b", **known) for n in range(20))
    scope = Scope(account_ids=frozenset({"a"}))
    assert len(list(islice(reprice(engine, prices, START_MS, END_MS, 7, scope=scope), 2))) == 2
    again = list(reprice(engine, prices, START_MS, END_MS, 7, scope=scope))
    assert sum(batch.changed for batch in again) == 6
    [correction] = rows(engine, corrections)
    assert (correction["account_id"], correction["corrected_requests"]) == ("a", 20)
    assert correction["added_nanousd"] == costs(engine)[0] == 20 * 1_650
    assert [it.changed_entries for it in past_repricings(engine)] == [6, 14]
    assert agrees(engine)
