"""Commands that read a large ledger take as long as they need, unlike requests."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger import reconcile, repricing
from app.ledger.bill import read_bill
from app.ledger.bill_check import compare
from app.ledger.invoices.invoice import InvoiceReader
from app.ledger.posting import Ledger
from app.ledger.reports.buckets import Bucket
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.recent import RecentReader
from app.ledger.unpriced import unpriced
from app.pricing.price_book import NO_PRICES
from app.storage.sql.engine import create_engine
from app.vocabulary.errors import LedgerUnavailable
from tests.ledger.bills import CSV
from tests.support.events import usage_event
from tests.support.services.polling import wait_until

#: The limit of a statement, and for how long each waits for the table here at least.
LIMIT_S, WAITS_S = 0.5, 1.0
END_MS = 2**42

COMMANDS: dict[str, Callable[[Engine], Any]] = {
    "reconcile": reconcile.count_entries,
    "prices update, its length": lambda engine: repricing.count_entries(engine, 0, END_MS),
    "prices update": lambda engine: list(repricing.reprice(engine, NO_PRICES, 0, END_MS)),
    "prices update --dry-run": lambda engine: list(repricing.preview(engine, NO_PRICES, 0, END_MS)),
    "prices missing": lambda engine: unpriced(engine, 0, END_MS),
    "reconcile --bill": lambda engine: compare(engine, read_bill(CSV.encode()), ["openai"]),
    "invoice": lambda engine: InvoiceReader(engine).lines("acme", Bucket(0, 2**32), by=()),
}


def _waiting(engine: Engine) -> int:
    """Return how many statements wait for a lock."""
    with engine.connect() as connection:
        sql = """SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'"""
        return int(connection.execute(sa.text(sql)).scalar_one())


def test_statements_of_commands_have_no_time_limit(postgres_url: str) -> None:
    engine = create_engine(f"{postgres_url}&options=-c%20statement_timeout%3D{LIMIT_S * 1000:.0f}")
    Ledger(engine).post([usage_event()])

    def ends_well(command: Callable[[Engine], Any]) -> bool:
        try:
            command(engine)
        except LedgerUnavailable:
            return False
        return True

    def of_a_page(engine: Engine) -> Sequence[Any]:
        return RecentReader(engine).requests(UsageQuery(0, 2**32), 1)

    with ThreadPoolExecutor(len(COMMANDS) + 1) as pool:
        with engine.begin() as connection:
            connection.execute(sa.text("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE"))
            found = {name: pool.submit(ends_well, it) for name, it in COMMANDS.items()}
            page = pool.submit(ends_well, of_a_page)
            wait_until(page.done)
            wait_until(lambda: _waiting(engine) == len(COMMANDS))
            time.sleep(WAITS_S)  # longer than the limit, while statements wait for the table
        assert {name: it.result() for name, it in found.items()} == dict.fromkeys(COMMANDS, True)
        assert not page.result()
    engine.dispose()
