"""Where an invoice's numbers come from."""

from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.engine import make_url

from app.ledger.invoices.month import Month
from app.ledger.invoices.origin import Completeness, ledger_name, read_origin
from app.ledger.posting import Ledger
from app.ledger.process_numbers import note_given, write_off
from app.ledger.repricing import reprice
from app.ledger.repricing_plan import Scope
from app.pricing.price_book import NO_PRICES
from app.usage.missing import Missing, Search
from tests.ledger.invoices.events import NOVEMBER, book, request

START_MS, END_MS = NOVEMBER.start_s * 1000, NOVEMBER.end_s * 1000


def test_re_pricings_and_corrections_of_the_account_and_the_month_are_named(
    engine: Engine, tmp_path: Path
) -> None:
    Ledger(engine, NO_PRICES).post(
        [request(5), request(5, account_id="beta"), request(40), request(model="new")]
    )
    prices = book(tmp_path)
    for account_id in ("acme", "beta"):
        scope = Scope(account_ids=frozenset({account_id}))
        list(reprice(engine, prices, START_MS, END_MS, scope=scope))
    list(reprice(engine, prices, START_MS, END_MS))  # changes nothing
    list(reprice(engine, prices, END_MS, END_MS + 10**10))
    found = read_origin(engine, "acme", NOVEMBER, Completeness())
    assert [it.scope.account_ids for it in found.repricings] == [frozenset({"acme"})]
    assert (found.corrected_requests, found.corrected_nanousd) == (1, 9_001_000)
    october = read_origin(engine, "acme", Month(2026, 10), Completeness())
    assert (october.repricings, october.corrected_requests) == ((), 0)


def test_what_is_missing_or_was_written_off_in_the_month_is_counted(engine: Engine) -> None:
    def gap(first: int, last: int, at_ms: int) -> Missing:
        return Missing("web-1", first, last, at_ms, at_ms + 1_000, at_ms)

    search = Search(0, (gap(1, 3, START_MS), gap(5, 5, END_MS - 500), gap(7, 9, END_MS)))
    found = read_origin(engine, "acme", NOVEMBER, Completeness(search=search))
    assert (found.missing_requests, found.written_off) == (4, 0)
    assert read_origin(engine, "acme", NOVEMBER, Completeness()).missing_requests is None
    note_given(engine, {"web-1": 10}, START_MS + 5_000)
    write_off(engine, [gap(1, 3, START_MS)])
    assert read_origin(engine, "acme", NOVEMBER, Completeness()).written_off == 3
    assert read_origin(engine, "acme", Month(2026, 9), Completeness()).written_off == 0


def test_a_ledger_is_named_without_its_host_user_and_password(engine: Engine) -> None:
    name = ledger_name(engine)
    assert name.startswith({"sqlite": "SQLite ", "postgresql": "PostgreSQL "}[engine.dialect.name])
    assert "/" not in name
    url = make_url(str(engine.url))
    assert (url.database or "").endswith(name.partition(" ")[2])
