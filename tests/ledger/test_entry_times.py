"""What the database counts of entries: the buckets are those of Python's histograms."""

from sqlalchemy import Engine

from app.ledger import histogram
from app.ledger.entry_times import GROUPS, count_entries
from app.ledger.posting import Ledger
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from tests.ledger.ledgers import at


def test_every_time_is_counted_in_the_bucket_that_python_finds(engine: Engine) -> None:
    edges = [0, 1, 31, 32, *(it for n in range(5, 33) for it in (2**n - 1, 2**n, 3 * 2 ** (n - 1)))]
    Ledger(engine).post(at(0, duration_ms=it, first_token_ms=None) for it in edges)
    with reading(engine) as connection:
        found = count_entries(connection, ("vendor",), ())
    assert found == {("openai",): [len(edges), 0, histogram.of(*edges)]}


def test_only_completed_requests_are_timed_and_all_are_counted(engine: Engine) -> None:
    Ledger(engine).post(
        [
            at(0, first_token_ms=5, duration_ms=9),
            at(0, vendor_served="groq", duration_ms=700),
            at(0, status="failed", http_status=None, vendor_served=None),
            at(1, account_id="beta"),
        ]
    )
    with reading(engine) as connection:
        where = (entries.c.account_id == "acct_1",)
        found = count_entries(connection, ("vendor_served", "status", "http_status"), where)
    assert found == {
        ("openai", "completed", 200): [1, histogram.of(5), histogram.of(9)],
        ("groq", "completed", 200): [1, histogram.of(40), histogram.of(700)],
        ("openai", "failed", 0): [1, 0, 0],
    }
    assert set(GROUPS) >= {"account_id", "api_key_id", "model"}
