"""What a body is that is no JSON object."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.mistakes.bodies import problem


@given(st.binary(max_size=400), st.text(max_size=80))
def test_any_body_gets_one_sentence_or_none(body: bytes, kind: str) -> None:
    found = problem(body, kind)
    assert found is None or (found.endswith((".", "`.")) and len(found) < 250)


@pytest.mark.parametrize(
    "body",
    [b'{"model": "m", "prompt": ', b'{"a": 1 "b": 2}', b'{"model": NaN}', b'{"a": "x=y"}', b"{"],
)
def test_of_broken_json_the_parsers_own_message_is_better(body: bytes) -> None:
    assert problem(body, "application/json") is None


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (b"null", "text/csv; charset=utf-8", "`text/csv`"),
        (b"a=b", "application/json", "form"),
        (b"  \n", "application/json", "empty"),
        (b'"text', "application/json", None),
        (b"[1", "", "array"),
        (b"5", "application/json", None),
    ],
)
def test_the_content_type_is_named_where_the_body_says_nothing(
    body: bytes, kind: str, says: str | None
) -> None:
    found = problem(body, kind)
    assert (says in found) if says and found else found is None
