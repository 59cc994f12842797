"""Totals, groups and charts of rows."""

from app.dashboard.aggregates import LINES_LIMIT, REST, SERIES_LIMIT, OverTime, grouped, total
from app.ledger.reports.query import UsageRow
from app.vocabulary.completion import Usage


def row(model: str, tokens: int, at_s: int = 0, **counts: int) -> UsageRow:
    """Return a row of one model, with one request unless it is said otherwise."""
    given = {"requests": 1, "failed_requests": 0, "estimated_requests": 0} | counts
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, total_tokens=tokens)
    return UsageRow(**given, usage=usage, vendor="sim", model=model, bucket_start_s=at_s)  # type: ignore[arg-type]


def tokens_of(row: UsageRow) -> int:
    """Return a row's tokens."""
    return row.usage.total_tokens


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


def over_time(rows: list[UsageRow]) -> OverTime:
    """Return rows of three hours, with their groups."""
    return OverTime(rows, grouped(rows, "model"), "model", range(0, 3 * 3600, 3600), 3600)


def test_a_chart_has_a_value_for_every_time() -> None:
    chart = over_time([row("a", 5, 0), row("a", 7, 7200), row("b", 1, 0)]).chart(
        "Tokens", "tokens", tokens_of
    )
    assert chart.series == [("sim/a", [5, 0, 7]), ("sim/b", [1, 0, 0])]
    assert chart.rows == [(0, [5, 1]), (3600, [0, 0]), (7200, [7, 0])]
    assert not chart.has_rest
    assert not chart.is_empty


def test_groups_without_a_colour_share_the_last_series() -> None:
    rows = [row(f"m{at}", 100 - at) for at in range(SERIES_LIMIT + 2)]
    chart = over_time(rows).chart("Tokens", "tokens", tokens_of)
    assert len(chart.series) == SERIES_LIMIT + 1
    assert chart.has_rest
    label, values = chart.series[-1]
    assert (label, sum(values)) == (REST, sum(100 - at for at in (SERIES_LIMIT, SERIES_LIMIT + 1)))


def test_a_row_outside_the_range_is_not_drawn() -> None:
    chart = over_time([row("a", 5, 999_999)]).chart("Tokens", "tokens", tokens_of)
    assert chart.is_empty
