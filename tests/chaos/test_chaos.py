"""The short form of `make chaos`: the same faults, and waiting times a fifth as long."""

from pathlib import Path

import pytest

from tests.chaos.backlog import drain_backlog
from tests.chaos.ledgers import Sqlite
from tests.chaos.run import run_chaos


def test_under_faults_each_call_that_the_vendor_served_is_in_the_ledger_once(
    tmp_path: Path,
) -> None:
    report = run_chaos(
        tmp_path, ledger="sqlite", redis="one", seed=2026, duration_s=30.0, haste=5.0
    )
    said = "\n".join(report.lines())
    assert report.is_good, said
    assert report.verdict.exact, said
    assert sum(report.struck.values()) >= 5, said


#: What destroys a copy of usage, or both.
LOSSES = (
    "FLUSHALL",
    "XTRIM by hand",
    "valkey of an older backup",
    "valkey replaced by an empty one",
    "valkey killed while its disk was slow",
    "ledger of an older backup",
    "full disk",
    "journals removed",
    "between Redis and the journal",
    "in the journal's write",
)

FAILOVERS = (
    "primary killed",
    "primary paused",
    "primary killed, its replica lags",
    "primary killed, its replica is empty",
    "sentinel killed",
    "sentinel paused",
)


@pytest.mark.parametrize(
    ("redis", "only"), [("one", LOSSES), ("standby", FAILOVERS)], ids=["losses", "failovers"]
)
def test_what_redis_or_the_ledger_lose_is_sent_again_or_told_exactly(
    tmp_path: Path, redis: str, only: tuple[str, ...]
) -> None:
    report = run_chaos(
        tmp_path, ledger="sqlite", redis=redis, seed=2026, duration_s=15.0, haste=5.0, only=only
    )
    said = "\n".join(report.lines())
    assert report.is_good, said
    assert report.verdict.exact, said
    assert sum(report.struck.values()) >= 4, said


def test_a_backlog_is_drained_once_and_in_flat_memory(tmp_path: Path) -> None:
    drained = drain_backlog(tmp_path, Sqlite(tmp_path), 60_000)
    assert drained.is_good, "\n".join(drained.lines())
