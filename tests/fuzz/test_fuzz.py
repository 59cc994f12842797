"""The short form of `make fuzz`."""

from pathlib import Path

from tests.fuzz.run import run_fuzz


def test_whatever_callers_do_others_are_served_and_the_books_balance(tmp_path: Path) -> None:
    report = run_fuzz(tmp_path, seed=2026, seconds=20.0)
    assert report.is_good, "\n".join(report.lines())
    assert sum(report.statuses.values()) >= 10
