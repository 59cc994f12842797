"""A JSON text in pieces is closed exactly where its first bracket is, however it is split."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.json_nesting import JSONNesting

values = st.recursive(
    st.none() | st.integers() | st.text('ab"\\{}[],: ', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('k"\\{', max_size=3), inner)
    ),
    max_leaves=12,
)
documents = st.lists(values, max_size=4) | st.dictionaries(st.text('k"\\}', max_size=3), values)


@given(documents, st.data())
def test_a_text_is_closed_with_its_last_bracket_and_not_before(
    value: object, data: st.DataObject
) -> None:
    text = json.dumps(value)
    nesting, left = JSONNesting(), text
    while left:
        assert not nesting.is_closed
        size = data.draw(st.integers(1, len(left)))
        nesting.feed(left[:size])
        left = left[size:]
    assert nesting.is_closed
    nesting.feed(" \n")
    assert nesting.is_closed


@pytest.mark.parametrize("text", ["", " ", "12", '"[]"', '{"a": "}', "[1", "[]x", "{}{}", '["\\"]'])
def test_a_text_that_is_no_whole_object_or_array_is_not_closed(text: str) -> None:
    nesting = JSONNesting()
    for letter in text:
        nesting.feed(letter)
    assert not nesting.is_closed
    nesting.feed("")
    assert not nesting.is_closed
