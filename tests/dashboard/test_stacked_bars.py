"""Stacked bars: their places, sizes and colors."""

from app.dashboard.aggregates import Chart
from app.dashboard.stacked_bars import HEIGHT, WIDTH, bars, color_of, highest


def chart(*series: tuple[str, list[int]], has_rest: bool = False) -> Chart:
    times_s = [it * 3600 for it in range(len(series[0][1]))]
    return Chart("Tokens", "tokens", times_s, 3600, series, has_rest)


def test_the_bars_of_a_bucket_stand_on_each_other() -> None:
    shown = chart(("a", [30, 0]), ("b", [10, 20]))
    assert highest(shown) == 40
    first, above, alone = bars(shown)
    assert (first.height, above.height, alone.height) == (150.0, 50.0, 100.0)
    assert (first.y, above.y, alone.y) == (50.0, 0.0, 100.0)
    assert (first.x, above.x, alone.x) == (0.0, 0.0, WIDTH / 2)
    assert all(bar.y + bar.height <= HEIGHT for bar in (first, above, alone))
    assert (alone.label, alone.time_s, alone.number) == ("b", 3600, 20)


def test_nothing_is_drawn_for_zeros() -> None:
    empty = chart(("a", [0, 0]))
    assert list(bars(empty)) == []
    assert highest(empty) == 1


def test_the_rest_has_the_last_color() -> None:
    shown = chart(("a", [1]), ("rest", [1]), has_rest=True)
    assert [color_of(shown, 0), color_of(shown, 1)] == [1, 8]
    assert color_of(chart(("a", [1]), ("b", [1])), 1) == 2
