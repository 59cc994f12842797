"""Buckets of time and the cursor between pages of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidRequest
from app.usage.buckets import TIME_LIMIT_S, Bucket, Cursor, buckets

TIMES_S = st.integers(0, TIME_LIMIT_S)


@given(start_s=TIMES_S, length_s=st.integers(1, 10**6), width_s=st.sampled_from([900, 3600, 86400]))
def test_buckets_fill_the_range_and_each_lies_in_one_whole_width(
    start_s: int, length_s: int, width_s: int
) -> None:
    found = list(buckets(start_s, start_s + length_s, width_s))
    assert [bucket.end_s for bucket in found[:-1]] == [bucket.start_s for bucket in found[1:]]
    assert (found[0].start_s, found[-1].end_s) == (start_s, start_s + length_s)
    for bucket in found:
        assert bucket.start_s < bucket.end_s
        assert bucket.start_s // width_s == (bucket.end_s - 1) // width_s


def test_a_huge_range_costs_only_the_buckets_that_are_taken() -> None:
    assert next(buckets(5, TIME_LIMIT_S, 3600)) == Bucket(5, 3600)
    assert list(buckets(5, 5, 3600)) == []


@given(start_s=st.integers(0, TIME_LIMIT_S - 1), length_s=st.integers(1, 10**9), query=st.binary())
def test_a_cursor_comes_back_as_it_was_for_its_query_alone(
    start_s: int, length_s: int, query: bytes
) -> None:
    cursor = Cursor(start_s, min(start_s + length_s, TIME_LIMIT_S))
    text = cursor.encode(query)
    assert Cursor.decode(text, query) == cursor
    with pytest.raises(InvalidRequest) as refusal:
        Cursor.decode(text, query + b"x")
    assert refusal.value.param == "page"


@pytest.mark.parametrize(
    "cursor", [Cursor(-1, 5), Cursor(5, 5), Cursor(6, 5), Cursor(0, TIME_LIMIT_S + 1)]
)
def test_a_cursor_that_was_made_up_cannot_leave_the_range_of_times(cursor: Cursor) -> None:
    with pytest.raises(InvalidRequest):
        Cursor.decode(cursor.encode(b"q"), b"q")


@given(st.text())
def test_no_text_breaks_the_cursor(text: str) -> None:
    for candidate in (text, f"page_{text}"):
        with pytest.raises(InvalidRequest):
            Cursor.decode(candidate, b"q")
