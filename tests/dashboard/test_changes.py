"""How figures changed from the period before."""

import pytest

from app.dashboard.changes import change


@pytest.mark.parametrize(
    ("now", "before", "text", "direction"),
    [
        (150, 100, "+50 %", "up"),
        (99, 100, "\N{MINUS SIGN}1.0 %", "down"),
        (100, 100, "+0.0 %", "same"),
        (5, 0, "new", "up"),
        (0, 5, "\N{MINUS SIGN}100 %", "down"),
        (1200, 100, "12 times", "up"),
    ],
)
def test_a_change_is_in_per_cent_of_the_value_before(
    now: int, before: int, text: str, direction: str
) -> None:
    found = change(now, before)
    assert found is not None
    assert (found.text, found.direction, found.before) == (text, direction, before)


def test_nothing_before_and_nothing_now_is_no_change() -> None:
    assert change(0, 0) is None
