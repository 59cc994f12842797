"""Which numbers of a process are posted, and which are missing."""

from hypothesis import given
from hypothesis import strategies as st

from app.usage.numbers import (
    NumberRange,
    count,
    decode_ranges,
    encode_ranges,
    missing,
    outside,
    with_numbers,
    without,
)

NUMBERS = st.sets(st.integers(1, 60), max_size=60)
#: When a process was first seen, and now, in Unix ms; request n started at 1,000 + n.
SINCE_MS, NOW_MS = 1_000, 2_000


def ranges_of(numbers: set[int]) -> tuple[NumberRange, ...]:
    return with_numbers((), [(number, 1_000 + number) for number in numbers])


def numbers_in(ranges: tuple[NumberRange, ...]) -> set[int]:
    return {number for one in ranges for number in range(one.first, one.last + 1)}


@given(NUMBERS, NUMBERS, NUMBERS)
def test_ranges_hold_what_was_added_in_any_order_and_often(
    first: set[int], second: set[int], third: set[int]
) -> None:
    ranges = ranges_of(first)
    for more in (second, third, second):
        ranges = with_numbers(ranges, [(number, 1_000 + number) for number in more])
    assert numbers_in(ranges) == first | second | third
    assert ranges == ranges_of(first | second | third)
    assert count(ranges) == len(first | second | third)
    assert decode_ranges(encode_ranges(ranges)) == ranges


@given(NUMBERS, st.integers(0, 70))
def test_what_is_missing_and_what_is_there_is_all_that_was_given(
    posted: set[int], last: int
) -> None:
    last = max(last, *posted, 0)
    gaps = missing(ranges_of(posted), last, SINCE_MS, NOW_MS)
    assert numbers_in(gaps) == set(range(1, last + 1)) - posted
    for gap in gaps:
        times = range(gap.first_ms, gap.last_ms + 1)
        assert all(1_000 + number in times for number in range(gap.first, gap.last + 1))


@given(NUMBERS, NUMBERS)
def test_what_is_under_way_is_taken_out_of_what_is_missing(
    gone: set[int], underway: set[int]
) -> None:
    assert numbers_in(without(ranges_of(gone), underway)) == gone - underway


@given(NUMBERS, NUMBERS)
def test_numbers_outside_the_ranges_are_found(posted: set[int], asked: set[int]) -> None:
    assert outside(asked, ranges_of(posted)) == asked - posted


def test_a_gap_lies_between_the_starts_of_its_neighbours() -> None:
    posted = with_numbers((), [(1, 10), (2, 20), (5, 50)])
    assert missing(posted, 7, 5, 99) == (NumberRange(3, 4, 20, 50), NumberRange(6, 7, 50, 99))


def test_nothing_is_stored_as_nothing() -> None:
    assert decode_ranges(None) == ()
    assert decode_ranges(encode_ranges(())) == ()
