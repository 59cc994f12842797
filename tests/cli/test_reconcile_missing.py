"""`tollgate reconcile` where requests are missing."""

from msgspec.structs import replace
from redis import Redis
from sqlalchemy import Engine

from app.admission.numbering import Numbering
from app.cli.reconcile_missing import SHOWN, missing_table
from app.ledger.posting import Ledger
from app.usage.missing import Missing, Search
from app.usage.redis.processes import Processes
from tests.cli.command import Tollgate
from tests.cli.test_reconcile_books import LONG_AGO_MS, engine, report, spool_dir, table, tollgate
from tests.support.events import usage_event

__all__ = ["engine", "spool_dir", "tollgate"]


def test_many_gaps_are_counted_and_the_first_are_shown() -> None:
    gaps = tuple(Missing("web-1", 2 * n, 2 * n, 0, 0, 0) for n in range(1, SHOWN + 3))
    lines = list(missing_table(Search(1, gaps)))
    assert len(lines) == 1 + SHOWN + 1
    assert lines[-1] == "and 2 more gaps"


def test_missing_requests_are_a_fault_until_they_are_written_off(
    tollgate: Tollgate, redis: "Redis", engine: Engine
) -> None:
    numbering, minute_ms = Numbering("web-1"), 60_000
    numbering.given(6)
    Processes(redis).heartbeat(numbering)
    Ledger(engine).post(
        [
            usage_event(process="web-1", number=number, started_at_ms=LONG_AGO_MS + at_ms)
            for number, at_ms in ((1, 0), (4, minute_ms), (6, minute_ms))
        ]
    )
    counts, said = table(tollgate)
    assert counts["missing requests"] == 3
    assert "! " not in said  # it may be on its way
    search = Processes(redis).search()
    assert search is not None
    old = tuple(replace(gap, found_ms=LONG_AGO_MS) for gap in search.missing)
    Processes(redis).store({}, Search(search.at_ms, old))
    result = tollgate.run("reconcile", exit_code=1)
    _, first, second = result.stdout.partition("\n\n")[2].splitlines()
    assert first.split()[:3] == ["web-1", "2-3", "2"]
    assert second.split()[:3] == ["web-1", "5", "1"]
    assert "Requests whose usage is missing: 3." in result.stderr
    read = report(tollgate, exit_code=1)["missing"]
    assert [(gap["first"], gap["last"]) for gap in read] == [(2, 3), (5, 5)]
    said = tollgate.run("reconcile", "--write-off").stderr
    assert "Written off: the usage of 3 requests." in said
    assert table(tollgate)[0]["missing requests"] == 0
