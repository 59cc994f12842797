"""The short form of `make chaos`: the same faults, and waiting times a fifth as long."""

from pathlib import Path

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


def test_a_backlog_is_drained_once_and_in_flat_memory(tmp_path: Path) -> None:
    drained = drain_backlog(tmp_path, Sqlite(tmp_path), 60_000)
    assert drained.is_good, "\n".join(drained.lines())
