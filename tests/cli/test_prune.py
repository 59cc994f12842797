"""`tollgate prune`."""

import json
import time

from app.ledger.posting import Ledger
from app.ledger.refusals import post_refusals
from app.usage.refusal import Refusal
from tests.cli.command import Tollgate
from tests.support.events import usage_event

DAY_MS = 86_400_000


def test_old_entries_go_and_their_sums_stay(tollgate: Tollgate) -> None:
    now_ms = time.time_ns() // 1_000_000
    Ledger(tollgate.engine).post(
        usage_event(started_at_ms=now_ms - age * DAY_MS) for age in (1, 100, 200, 200)
    )
    result = tollgate.run("prune", "--older-than", "180d")
    assert (result.stdout, result.stderr.splitlines()[-1]) == (
        "",
        "Removed 2 entries. Their rollups are kept.",
    )
    assert "Removed 0 entries" in tollgate.run("prune", "--older-than", "180d").stderr
    usage = ("usage", "--since", "365d", "--by", "day", "--format", "json")
    rows = json.loads(tollgate.run(*usage).stdout)["rows"]
    assert sum(row["requests"] for row in rows) == 4


def test_counts_of_refused_requests_are_removed_with_the_entries(tollgate: Tollgate) -> None:
    now_s = int(time.time())
    refusal = Refusal(0, "acme", "key_1", "completions", "invalid_json")
    counts = {refusal._replace(hour_s=now_s - age * DAY_MS // 1000): age for age in (1, 200)}
    post_refusals(tollgate.engine, "b", counts, now_s * 1000)
    tollgate.run("prune", "--older-than", "180d")
    shown = tollgate.run("refusals", "--since", "365d", "--format", "json").stdout
    assert json.loads(shown)["total"] == {"refused_requests": 1}


def test_what_was_pruned_is_said_where_it_would_be_missing(tollgate: Tollgate) -> None:
    now_ms = time.time_ns() // 1_000_000
    Ledger(tollgate.engine).post([usage_event(started_at_ms=now_ms - 200 * DAY_MS)])
    tollgate.run("prune", "--older-than", "180d")
    result = tollgate.run("usage", "--since", "2026-01-01", "--by", "user", exit_code=1)
    assert "15-minute totals" in result.stderr


def test_what_may_still_be_replayed_is_not_pruned(tollgate: Tollgate) -> None:
    assert "30 days" in tollgate.run("prune", "--older-than", "29d", exit_code=2).stderr
    tollgate.run("prune", exit_code=2)
