"""Histograms: sums are sums of integers, and percentiles are within 3.2 %."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ledger import histogram

TIMES = st.lists(st.integers(0, 2**31), max_size=60)


@given(st.integers(0, 2**31 - 1))
def test_the_middle_of_a_bucket_is_near_every_time_in_it(time_ms: int) -> None:
    middle_ms = histogram.middle_ms(histogram.bucket_of(time_ms))
    assert abs(middle_ms - time_ms) <= time_ms / 32
    assert time_ms >= 32 or middle_ms == time_ms


def test_buckets_ascend_without_gaps() -> None:
    assert [histogram.bucket_of(it) for it in (0, 31, 32, 33, 34, 63, 64)] == [
        *(0, 31, 32, 32, 33, 47, 48)
    ]
    assert histogram.bucket_of(2**31 - 1) == histogram.LAST_BUCKET
    assert histogram.bucket_of(2**53) == histogram.LAST_BUCKET


@given(TIMES, TIMES)
def test_a_sum_has_the_times_of_both_and_survives_as_text(some: list[int], more: list[int]) -> None:
    added = histogram.of(*some) + histogram.of(*more)
    assert added == histogram.of(*some, *more)
    assert sum(count for _, count in histogram.counts(added)) == len(some) + len(more)
    text = histogram.encode(added)
    assert histogram.decode(text) == added
    assert " " not in text


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1), st.integers(1, 100))
def test_a_percentile_is_near_the_nearest_rank(times_ms: list[int], percent: int) -> None:
    exact = sorted(times_ms)[math.ceil(len(times_ms) * percent / 100) - 1]
    (found,) = histogram.percentiles(histogram.of(*times_ms), percent)
    assert found == histogram.middle_ms(histogram.bucket_of(exact))


def test_an_empty_histogram_has_no_percentiles() -> None:
    assert histogram.percentiles(0, 50, 99) == [None, None]
    assert histogram.encode(0) == ""
    assert histogram.decode("") == 0


@pytest.mark.parametrize("times", [1, 2**39])
def test_a_count_does_not_run_into_the_next_bucket(times: int) -> None:
    many = histogram.of(7) * times + histogram.of(8)
    assert list(histogram.counts(many)) == [(7, times), (8, 1)]
