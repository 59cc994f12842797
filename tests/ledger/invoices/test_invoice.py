"""A whole invoice."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from sqlalchemy import Engine

from app.ledger.invoices.cents import cents_of
from app.ledger.invoices.lines import GroupBy
from app.ledger.invoices.month import Month
from app.ledger.invoices.origin import Completeness
from app.ledger.posting import Ledger
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.retention import prune
from app.pricing.price_book import PriceBook
from app.usage.messages.event import UsageEvent
from tests.ledger.invoices.events import NOVEMBER, book, invoice_of, request, requests
from tests.ledger.ledgers import empty_ledger


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> PriceBook:
    folder: Path = tmp_path_factory.mktemp("prices")
    return book(folder)


@settings(max_examples=20)
@given(requests())
def test_the_invoices_of_all_accounts_are_the_ledgers_sum(
    prices: PriceBook, events: list[UsageEvent]
) -> None:
    with empty_ledger() as engine:
        Ledger(engine, prices).post(events)
        invoices = [invoice_of(engine, it) for it in ("acme", "beta")]
        rows = UsageReader(engine).rows(UsageQuery(NOVEMBER.start_s, NOVEMBER.end_s))
        assert sum(it.exact_nanousd for it in invoices) == sum(it.cost_nanousd for it in rows)
        assert sum(it.totals.requests for it in invoices) == sum(it.requests for it in rows)
        for it in invoices:
            assert list(it.draft_reasons()) == []
            known = [cents for cents in it.cents() if cents is not None]
            assert sum(known) == cents_of(it.exact_nanousd) == (it.total_cents or 0)


@pytest.mark.parametrize("zone", [ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/New_York")])
def test_a_local_month_has_its_own_requests(
    engine: Engine, prices: PriceBook, zone: tzinfo
) -> None:
    month = Month(2026, 11, zone)
    Ledger(engine, prices).post(
        request(started_at_ms=at_s * 1000)
        for at_s in (month.start_s - 1, month.start_s, month.end_s - 1, month.end_s)
    )
    it = invoice_of(engine, month=month)
    assert (it.totals.requests, list(it.draft_reasons())) == (2, [])


@pytest.mark.parametrize("by", [(), ("api_key",), ("endpoint", "api_key")])
def test_days_whose_entries_were_pruned_keep_their_amounts(
    engine: Engine, prices: PriceBook, by: Sequence[GroupBy]
) -> None:
    Ledger(engine, prices).post(
        [*(request(day + 0.5) for day in range(1, 31)), request(2, model="new")]
    )
    before = invoice_of(engine, by=by)
    assert before.origin.pruned_until_s is None
    list(prune(engine, NOVEMBER.start_s + 10 * 86_400))
    after = invoice_of(engine, by=by)
    assert after.origin.pruned_until_s == NOVEMBER.start_s + 10 * 86_400
    assert (after.exact_nanousd, after.total_cents) == (before.exact_nanousd, before.total_cents)
    assert after.unpriced_requests == 1
    assert [(it.is_pruned, it.requests) for it in after.lines if it.model == "m"] == [
        (True, 10),
        (False, 5),
        (False, 15),
    ]
    assert list(after.draft_reasons()) == []
    list(prune(engine, NOVEMBER.end_s + 86_400))
    assert invoice_of(engine, by=by).total_cents == before.total_cents


def test_an_invoice_is_a_draft_until_its_month_is_over_and_complete(
    engine: Engine, prices: PriceBook
) -> None:
    Ledger(engine, prices).post([request()])
    final = invoice_of(engine)
    assert list(final.draft_reasons()) == []
    for draft, reason in (
        (replace(final, read_at_s=NOVEMBER.end_s - 1), "2026-11 has not ended."),
        (invoice_of(engine, completeness=Completeness()), "is unknown: set REDIS_URL"),
        (
            invoice_of(engine, completeness=Completeness(until_ms=NOVEMBER.end_s * 1000 - 1)),
            "complete only until 2026-11-30 23:59:59 UTC",
        ),
        (replace(final, lines=()), "run tollgate reconcile"),
    ):
        [said] = draft.draft_reasons()
        assert reason in said


def test_a_total_of_which_no_price_is_known_is_unknown_and_one_of_nothing_is_0(
    engine: Engine, prices: PriceBook
) -> None:
    assert invoice_of(engine).total_cents == 0
    Ledger(engine, prices).post([request(model="new")])
    assert (invoice_of(engine).total_cents, invoice_of(engine).cents()) == (None, [None])
    Ledger(engine, prices).post([request(prompt_tokens=10_000)])
    assert invoice_of(engine).total_cents == 1_001
