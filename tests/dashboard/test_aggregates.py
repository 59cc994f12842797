"""Totals, groups and charts of rows."""

from app.dashboard.aggregates import LINES_LIMIT, grouped, total
from app.ledger.reports.query import UsageRow
from app.vocabulary.completion import Usage


def row(model: str, tokens: int, at_s: int = 0, **counts: int) -> UsageRow:
    """Return a row of one model, with one request unless it is said otherwise."""
    given = {"requests": 1, "failed_requests": 0, "estimated_requests": 0} | counts
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, total_tokens=tokens)
    return UsageRow(**given, usage=usage, vendor="sim", model=model, bucket_start_s=at_s)  # type: ignore[arg-type]


def test_a_total_adds_every_count() -> None:
    summed = total([row("a", 5, failed_requests=1), row("b", 7, requests=2, cost_nanousd=9)])
    assert (summed.requests, summed.failed_requests, summed.cost_nanousd) == (3, 1, 9)
    assert summed.usage.total_tokens == 12
    assert total([]).requests == 0


def test_groups_are_sorted_by_tokens_then_requests_then_name() -> None:
    rows = [row("d", 1), row("b", 5), row("a", 5), row("c", 5, requests=2), row("d", 100)]
    assert [group.label for group in grouped(rows, "model")] == [
        "sim/d",
        "sim/c",
        "sim/a",
        "sim/b",
    ]


def test_groups_beyond_the_limit_share_the_last_line() -> None:
    rows = [row(f"m{at:03}", 1000 - at) for at in range(LINES_LIMIT + 3)]
    groups = grouped(rows, "model")
    assert len(groups) == LINES_LIMIT + 1
    assert (groups[-1].label, groups[-1].is_other) == ("3 others", True)
    assert groups[-1].sums.requests == 3
    assert not any(group.is_other for group in groups[:-1])
