"""`tollgate reconcile`."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import Engine

from app.admission.numbering import Numbering
from app.cli.reconcile_books import PATIENCE_S, SHOWN
from app.ledger.posting import Ledger
from app.ledger.reports.latencies import LatencyReader
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.storage.redis.keys import DEAD, EVENTS
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import ROLLUP_TABLES, latency_hours, rollups
from app.usage.disk.spool import Spool
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream
from tests.cli.command import Tollgate
from tests.support.events import open_record, usage_event

LONG_AGO_MS = int((time.time() - PATIENCE_S - 3600) * 1000)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """The ledger's database, of each kind."""
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def spool_dir(tmp_path: Path) -> Path:
    """Where this machine's spool is."""
    return tmp_path / "spool"


@pytest.fixture
def tollgate(database_url: str, redis_url: str, engine: Engine, spool_dir: Path) -> Tollgate:
    """The command line, with a Redis and a spool."""
    env = {"REDIS_URL": redis_url, "TOLLGATE_SPOOL_DIR": str(spool_dir)}
    return Tollgate(database_url, engine, env)


def table(tollgate: Tollgate, exit_code: int = 0) -> tuple[dict[str, int], str]:
    """Return the counts by what they count, and what was said besides."""
    result = tollgate.run("reconcile", exit_code=exit_code)
    _, *rows = result.stdout.partition("\n\n")[0].splitlines()
    counts = {}
    for row in rows:
        what, _, rest = row.partition("  ")
        counts[what] = int(rest.split()[0])
    return counts, result.stderr


def report(tollgate: Tollgate, *arguments: str, exit_code: int = 0) -> dict[str, Any]:
    result = tollgate.run("reconcile", "--json", *arguments, exit_code=exit_code)
    read: dict[str, Any] = json.loads(result.stdout)
    return read


def test_an_idle_deployment_agrees(tollgate: Tollgate, engine: Engine) -> None:
    Ledger(engine).post([usage_event(), usage_event()])
    counts, said = table(tollgate)
    assert {what for what, count in counts.items() if count} == {"ledger entries"}
    assert counts["ledger entries"] == 2
    assert "No problems found." in said
    assert report(tollgate)["problems"] == []


def test_usage_in_flight_is_counted_and_is_not_a_problem(
    tollgate: Tollgate, redis: "Redis", spool_dir: Path
) -> None:
    stream, records = EventStream(redis), OpenRecords(redis)
    for _ in range(3):
        stream.publish(usage_event())
    stream.claim_new("drain", 1)
    Processes(redis).heartbeat(Numbering("web-1"))
    now_ms = int(time.time() * 1000)
    records.reopen("e1", open_record(owner="web-1", started_at_ms=LONG_AGO_MS).encode(), "", 0)
    records.reopen("e2", open_record(owner="gone", started_at_ms=now_ms).encode(), "", 0)
    spool = Spool(spool_dir, "web-1")
    spool.append("event", b"{}")
    counts, _ = table(tollgate)
    assert counts == {
        "events waiting for a worker": 3,
        "requests in flight": 1,
        "orphaned requests": 1,
        "dead-lettered events": 0,
        "missing requests": 0,
        "spool files of this host": 1,
        "ledger entries": 0,
        "rollups that differ": 0,
    }
    read = report(tollgate)
    assert (read["redis"]["claimed"], read["redis"]["open_orphaned"]) == (1, 1)
    assert [(file["is_orphan"], file["size_bytes"]) for file in read["spool"]] == [(False, 13)]


def test_what_was_left_behind_is_a_fault_with_what_to_do_about_it(
    tollgate: Tollgate, redis: "Redis", spool_dir: Path
) -> None:
    redis.xadd(EVENTS, {"event": usage_event().encode()}, id=f"{LONG_AGO_MS}-0")
    redis.xadd(DEAD, {"event": b"?", "reason": "not JSON"})
    gone = open_record(owner="g", started_at_ms=LONG_AGO_MS)
    OpenRecords(redis).reopen("e1", gone.encode(), "", 0)
    spool_dir.mkdir()
    (spool_dir / "gone.1.jsonl").write_bytes(b'{"event":{}}\n')
    counts, said = table(tollgate, exit_code=1)
    assert counts["dead-lettered events"] == counts["orphaned requests"] == 1
    problems = [line.removeprefix("! ") for line in said.splitlines() if line.startswith("! ")]
    for problem, hint in zip(
        problems,
        [
            "tollgate dead list",
            "Events have waited since",
            "worker and beat run",
            "TOLLGATE_SPOOL_DIR",
        ],
        strict=True,
    ):
        assert hint in problem
    assert report(tollgate, exit_code=1)["problems"] == problems


def test_rollups_that_differ_are_shown_and_remade_when_told_to(
    tollgate: Tollgate, engine: Engine
) -> None:
    Ledger(engine).post([usage_event(account_id=name) for name in ("acme", "ACME", "acme")])
    with engine.execution_options(writes=True).begin() as connection:
        damaged = rollups.update().where(rollups.c.account_id == "acme")
        connection.execute(damaged.values(requests=7, total_tokens=1))
    result = tollgate.run("reconcile", exit_code=1)
    headings, row = result.stdout.partition("\n\n")[2].splitlines()
    assert headings.split()[:4] == ["account", "slot", "key", "model"]
    assert row.split() == ["acme", "2026-05-28T20:15:00Z", "key_1", "openai/m", "all", "-5", "9"]
    assert "tollgate reconcile --rebuild" in result.stderr
    read = report(tollgate, exit_code=1)["ledger"]
    assert (read["entries"], read["rollups_differing"], read["rollups_rebuilt"]) == (3, 1, False)
    (difference,) = read["differences"]
    assert difference["lacks"] == {"requests": -5, "total_tokens": 9}

    rebuilt = tollgate.run("reconcile", "--rebuild")
    assert "recomputed" in rebuilt.stdout
    assert report(tollgate)["ledger"]["differences"] == []
    assert report(tollgate, "--rebuild")["ledger"]["rollups_differing"] == 0


def test_what_the_version_before_posted_is_no_problem_and_a_rebuild_adds_it(
    tollgate: Tollgate, engine: Engine
) -> None:
    Ledger(engine).post([usage_event(status="truncated"), usage_event()])
    with engine.execution_options(writes=True).begin() as connection:
        for table in ROLLUP_TABLES.values():
            connection.execute(table.update().values(failed_requests=0))
        connection.execute(latency_hours.delete())
    assert "No problems found." in tollgate.run("reconcile").stderr
    assert report(tollgate, "--rebuild")["ledger"]["rollups_differing"] == 3
    start_s = usage_event().started_at_ms // 1000
    query = UsageQuery(start_s, start_s + 1)
    found = LatencyReader(engine).read(query, time.time())
    assert found is not None
    assert (found.requests, found.is_complete) == (2, True)
    (row,) = UsageReader(engine).rows(query)
    assert (row.requests, row.failed_requests) == (2, 1)


def test_many_differences_are_counted_and_some_are_shown(
    tollgate: Tollgate, engine: Engine
) -> None:
    Ledger(engine).post([usage_event(model=f"m{n}") for n in range(SHOWN + 5)])
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(rollups.delete())
    result = tollgate.run("reconcile", exit_code=1)
    assert len(result.stdout.partition("\n\n")[2].splitlines()) == 1 + SHOWN + 1
    assert result.stdout.endswith("and 5 more\n")
    assert len(report(tollgate, exit_code=1)["ledger"]["differences"]) == SHOWN + 5


def test_a_spool_that_cannot_be_read_is_said(tollgate: Tollgate, spool_dir: Path) -> None:
    spool_dir.mkdir()
    (spool_dir / "web.1.jsonl").mkdir()  # as good as one that is somebody else's
    result = tollgate.run("reconcile", exit_code=1)
    assert "Cannot read" in result.stderr
    assert result.stdout == ""
