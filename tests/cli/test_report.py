"""A usage report without a ledger: order, totals, and the three formats."""

import csv
import io
import json

import pytest

from app.cli.report import Report, print_csv, print_json, print_table, row_cost, summary
from app.ledger.reports.query import UsageRow
from app.vocabulary.completion import Usage


def row(model: str, tokens: int, **changes: int) -> UsageRow:
    """Return a row of one model; its requests have a known price unless it is said otherwise."""
    counts = {"requests": 1, "failed_requests": 0, "estimated_requests": 0, "priced_requests": 1}
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, total_tokens=tokens)
    return UsageRow(**(counts | changes), usage=usage, vendor="sim", model=model)  # type: ignore[arg-type]


def report(*rows: UsageRow, by: tuple[str, ...] = ("model",)) -> Report:
    """Return a report of one day."""
    return Report(
        subject="acme", start_s=1_788_220_800, end_s=1_788_307_200, by=by, rows=list(rows)
    )


def test_rows_are_sorted_by_tokens_unless_a_column_is_a_time() -> None:
    first = row("a", 1, bucket_start_s=7200)
    second = row("b", 5, bucket_start_s=3600)
    third = row("c", 9, bucket_start_s=7200)
    by_tokens = report(first, second, third).sorted_rows()
    assert [it.model for it in by_tokens] == ["c", "b", "a"]
    over_time = report(third, first, second, by=("hour", "model")).sorted_rows()
    assert [it.model for it in over_time] == ["b", "a", "c"]


def test_the_total_adds_counts_costs_and_tokens() -> None:
    total = report(row("a", 5, cost_nanousd=3), row("b", 7, cost_nanousd=4)).total()
    assert (total.requests, total.cost_nanousd, total.usage.total_tokens) == (2, 7, 12)


def test_a_cost_is_exact_and_unknown_if_no_request_has_a_price() -> None:
    assert row_cost(row("a", 5, cost_nanousd=1)) == "0.000000001"
    assert row_cost(row("a", 5, priced_requests=0)) is None


def test_json_and_csv_have_every_count(capsys: pytest.CaptureFixture[str]) -> None:
    one = report(row("a", 5, cost_nanousd=10**9, requests=3, failed_requests=1))
    print_json(one)
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"] == [{"model": "sim/a", **shown["total"]}]
    assert (shown["total"]["requests"], shown["total"]["failed_requests"]) == (3, 1)
    assert shown["start"] == "2026-09-01T00:00:00Z"
    print_csv(one)
    (line,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert line == {name: str(value) for name, value in shown["rows"][0].items()}


def test_marks_are_explained_if_they_occur(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(report(row("a", 5)))
    plain = capsys.readouterr()
    assert "~" not in plain.out + plain.err.partition("\n")[2]
    print_table(report(row("a", 5, estimated_requests=1, priced_requests=0)))
    marked = capsys.readouterr()
    assert "~1" in marked.out
    assert marked.err.splitlines()[1][0] == "~"
    assert "tollgate prices missing" in marked.err


def test_a_report_without_rows_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(report())
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "--since" in shown.err


def test_a_summary_counts_one_and_many() -> None:
    assert "1 request, 1 token (" in summary(report(row("a", 1, cost_nanousd=10**9)))
    long = summary(report(row("a", 2000, requests=5, failed_requests=2, priced_requests=2)))
    assert "5 requests, 2,000 tokens" in long
    assert "Of the requests: 2 failed; " in long
