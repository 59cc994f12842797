"""Rounding to cents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ledger.invoices.cents import CENT, apportioned, cents_of, show_cents

AMOUNTS = st.lists(st.one_of(st.integers(0, 3 * CENT), st.integers(0, 2**60)), max_size=40)


@given(AMOUNTS)
def test_lines_add_up_to_the_rounded_sum_and_each_is_less_than_a_cent_off(
    amounts: list[int],
) -> None:
    cents = apportioned(amounts)
    assert sum(cents) == cents_of(sum(amounts))
    for amount, rounded in zip(amounts, cents, strict=True):
        assert abs(rounded * CENT - amount) < CENT
        assert rounded == 0 or amount > 0  # nothing is charged for nothing


@given(AMOUNTS)
def test_a_line_with_a_larger_remainder_is_not_rounded_down_before_a_smaller_one(
    amounts: list[int],
) -> None:
    cents = apportioned(amounts)
    pairs = zip(amounts, cents, strict=True)
    up = [it % CENT for it, rounded in pairs if rounded > it // CENT]
    pairs = zip(amounts, cents, strict=True)
    down = [it % CENT for it, rounded in pairs if rounded == it // CENT]
    assert not up or not down or min(up) >= max(down)


@pytest.mark.parametrize(
    ("amounts", "cents"),
    [
        ([], []),
        ([0], [0]),
        ([CENT // 2], [1]),
        ([CENT // 2 - 1], [0]),
        ([CENT // 3] * 3, [1, 0, 0]),
        ([CENT + 1, 2 * CENT + CENT // 2], [1, 3]),
    ],
)
def test_the_sum_is_rounded_half_up(amounts: list[int], cents: list[int]) -> None:
    assert apportioned(amounts) == cents


def test_cents_are_shown_with_two_places() -> None:
    assert [show_cents(it) for it in (0, 5, 123_456)] == ["0.00", "0.05", "1234.56"]
