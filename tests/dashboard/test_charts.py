"""Charts of rows: series, their order, their colours."""

from app.dashboard.charts import REST, REST_COLOR, SERIES_LIMIT, Chart, OverTime, colors_of
from app.ledger.reports.query import UsageRow
from tests.dashboard.test_aggregates import row

HOUR_S = 3600


def chart(*rows: UsageRow, colors: dict[str, int] | None = None) -> Chart:
    """Return the chart of rows in three hours, by model."""
    timed = [(it.bucket_start_s or 0, it) for it in rows]
    over_time = OverTime(timed, "model", range(0, 3 * HOUR_S, HOUR_S), 3 * HOUR_S)
    return over_time.chart(
        "tokens", "Tokens", "tokens", lambda it: it.usage.total_tokens, colors or {}
    )


def test_a_chart_has_a_value_for_every_time() -> None:
    shown = chart(row("a", 5, 0), row("a", 7, 2 * HOUR_S), row("b", 1, 0))
    assert [(it.label, it.values) for it in shown.series] == [
        ("sim/a", [5, 0, 7]),
        ("sim/b", [1, 0, 0]),
    ]
    assert shown.rows == [(0, [5, 1]), (HOUR_S, [0, 0]), (2 * HOUR_S, [7, 0])]
    assert not shown.is_empty
    assert chart().is_empty


def test_a_bar_adds_up_the_buckets_that_it_contains() -> None:
    shown = chart(row("a", 5, 0), row("a", 7, HOUR_S - 60), row("a", 1, HOUR_S))
    assert shown.series[0].values == [12, 1, 0]


def test_the_largest_come_first_and_the_others_are_added_up() -> None:
    rows = [row(f"m{at}", at + 1) for at in range(SERIES_LIMIT + 2)]
    shown = chart(*rows)
    assert len(shown.series) == SERIES_LIMIT + 1
    assert shown.series[0].label == f"sim/m{SERIES_LIMIT + 1}"
    rest = shown.series[-1]
    assert (rest.label, rest.color, rest.total) == (REST, REST_COLOR, 1 + 2)


def test_a_group_keeps_its_colour_and_others_take_free_ones() -> None:
    colors = colors_of(["sim/a", "sim/b", "sim/c"])
    shown = chart(row("x", 9), row("c", 5), row("b", 1), colors=colors)
    assert {it.label: it.color for it in shown.series} == {"sim/x": 1, "sim/c": 3, "sim/b": 2}


def test_a_group_without_a_value_has_no_series() -> None:
    assert [it.label for it in chart(row("a", 0), row("b", 1)).series] == ["sim/b"]


def test_thousands_of_groups_share_one_series() -> None:
    rows = [row(f"m{at:04}", 1, HOUR_S * (at % 3)) for at in range(3_000)]
    shown = chart(*rows)
    assert len(shown.series) == SERIES_LIMIT + 1
    assert sum(it.total for it in shown.series) == len(rows)
    assert shown.series[-1].total == len(rows) - SERIES_LIMIT
