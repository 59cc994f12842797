"""JSON in requests and responses: strict for callers', lenient for vendors'."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.json_size import DEPTH_LIMIT
from app.formats.strict_json import dump, load_request, load_vendor
from app.vocabulary.errors import InvalidJSON

NO_REQUESTS: dict[str, bytes] = {
    "an array": b"[]",
    "null": b"null",
    "a string": b'"x"',
    "a number": b"1",
    "nothing": b"",
    "blanks": b" \n",
    "not UTF-8": b'{"prompt":"\xff"}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "latin-1": '{"a":"é"}'.encode("latin-1"),
    "half a surrogate pair": b'{"prompt":"\\ud83d"}',
    "a byte-order mark": b'\xef\xbb\xbf{"a":1}',
    "NaN": b'{"temperature":NaN}',
    "Infinity": b'{"temperature":-Infinity}',
    "a number beyond all": b'{"temperature":1e999}',
    "a comma too many": b'{"a":1,}',
    "two objects": b"{}{}",
    "single quotes": b"{'a':1}",
    "cut in the middle": b'{"prompt":"hel',
    "a form": b"model=openai/m&prompt=hi",
    "a raw line end in a string": b'{"prompt":"a\nb"}',
}


@pytest.mark.parametrize("body", NO_REQUESTS.values(), ids=NO_REQUESTS)
def test_what_is_no_json_object_in_utf_8_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidJSON) as caught:
        load_request(body)
    assert (caught.value.status, caught.value.code, caught.value.param) == (
        400,
        "invalid_json",
        None,
    )


def nested(depth: int, opening: bytes = b'{"a":', closing: bytes = b"}") -> bytes:
    """Return JSON of `depth` levels; an object is the outermost."""
    inner = opening * (depth - 2) + b"[]" + closing * (depth - 2)
    return b'{"deep":' + inner + b"}"


@pytest.mark.parametrize(
    ("opening", "closing"), [(b'{"a":', b"}"), (b"[", b"]"), (b"[0,[],", b"]")]
)
def test_nesting_is_limited(opening: bytes, closing: bytes) -> None:
    load_request(nested(DEPTH_LIMIT, opening, closing))
    for depth in (65, 200, 1_000, 5_000, 100_000):
        with pytest.raises(InvalidJSON):
            load_request(nested(depth, opening, closing))


def test_brackets_in_text_and_side_by_side_are_no_nesting() -> None:
    body = {"prompt": "[{" * 5_000, "logit_bias": {}, "more": [[], {}] * 1_000}
    assert load_request(json.dumps(body).encode()) == body


@pytest.mark.parametrize(
    "text", ['"', "\\", '\\"', '"]', '\\\\"]}', '"[' * 40, "\\[" * 40, "]" * 70]
)
def test_nesting_is_counted_whatever_the_text_between_says(text: str) -> None:
    for depth in (DEPTH_LIMIT, DEPTH_LIMIT + 1):
        value: object = text
        for _ in range(depth - 1):
            value = [text, value, text]
        body = json.dumps({text: value}).encode()
        if depth == DEPTH_LIMIT:
            assert load_request(body) == {text: value}
        else:
            with pytest.raises(InvalidJSON, match="nested"):
                load_request(body)


def test_of_a_repeated_key_the_last_value_counts() -> None:
    assert load_request(b'{"model":"a/b","n":1,"model":"c/d"}') == {"model": "c/d", "n": 1}


@pytest.mark.parametrize("text", ["\u2028\u2029\u0085\x0b", "é 語 😀", '\\ " \x00', ""])
def test_text_arrives_as_it_was_sent(text: str) -> None:
    for ascii_ in (True, False):
        body = json.dumps({"prompt": text}, ensure_ascii=ascii_).encode()
        assert load_request(body) == {"prompt": text}


def test_whole_numbers_stay_whole_and_fractions_fractions() -> None:
    numbers = load_request(b'{"a":5,"b":5.0,"c":-9223372036854775808,"d":18446744073709551616}')
    assert [type(n) for n in numbers.values()] == [int, float, int, float]


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_invalid_json(body: bytes) -> None:
    try:
        value = load_request(body)
    except InvalidJSON:
        return
    assert isinstance(value, dict)


def test_a_refusal_does_not_quote_the_body() -> None:
    with pytest.raises(InvalidJSON) as caught:
        load_request(b'{"prompt": "my secret", oops}')
    assert "secret" not in str(caught.value)
    assert "oops" not in str(caught.value)


LENIENT: dict[str, tuple[bytes, Any]] = {
    "blank lines first, as a queue sends them": (b'\n\n\n{"a":1}', {"a": 1}),
    "NaN": (b'{"logprob":NaN,"b":1}', {"logprob": None, "b": 1}),
    "infinities": (b"[-Infinity,Infinity,1e999]", [None, None, None]),
    "half a surrogate pair": (b'{"text":"\\ud83d"}', {"text": "\ud83d"}),
    "a byte-order mark": (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
    "half a character in bytes": (b'{"text":"\xf0\x9f"}', {"text": "\udcf0\udc9f"}),
    "a number without end": (b'{"n":' + b"9" * 5_000 + b"}", {"n": None}),
    "any type": (b'"sorry"', "sorry"),
}


@pytest.mark.parametrize(("body", "value"), LENIENT.values(), ids=LENIENT)
def test_a_vendors_json_is_taken_as_it_comes(body: bytes, value: Any) -> None:
    assert load_vendor(body) == value


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b'{"a":', b"\xff\xfe", b"[DONE]"]
    + [nested(depth) for depth in (65, 300, 1_000, 5_000, 100_000)],
)
def test_a_vendors_nonsense_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the words are the parsers'
        load_vendor(body)


@given(st.binary(max_size=200))
def test_any_bytes_of_a_vendor_load_or_are_a_value_error(body: bytes) -> None:
    try:
        load_vendor(body)
    except ValueError:
        return


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=30,
)


@given(VALUES)
def test_what_a_vendor_sends_can_be_sent_on_as_strict_json_on_one_line(value: Any) -> None:
    loaded = load_vendor(json.dumps(value).encode())
    dumped = dump(loaded)
    assert b"\n" not in dumped
    assert b"\r" not in dumped
    whole = json.dumps(loaded).encode("utf-16", "surrogatepass")
    assert json.loads(dumped, parse_constant=pytest.fail) == json.loads(_replaced(whole))


def _replaced(text: bytes) -> str:
    """Return JSON with halves of characters replaced by U+FFFD."""
    plain = json.dumps(json.loads(text.decode("utf-16")), ensure_ascii=False)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(st.dictionaries(st.text(), VALUES, max_size=8))
def test_what_a_caller_sends_is_sent_on_as_it_was(value: dict[str, Any]) -> None:
    body = json.dumps(value).encode()
    try:
        loaded = load_request(body)
    except InvalidJSON:
        return
    assert json.loads(dump(loaded)) == loaded


def test_text_is_sent_as_utf_8_and_half_a_character_is_replaced() -> None:
    assert dump({"a": "é\u2028😀"}) == '{"a":"é\u2028😀"}'.encode()
    assert dump({"a": "é\ud83d"}) == '{"a":"é\ufffd"}'.encode()
    assert (
        dump({"a": "\ud83d\ude00\udc80", "b": 2**70}) == '{"a":"😀\ufffd","b":%d}'.encode() % 2**70
    )


def test_numbers_that_json_does_not_have_become_null() -> None:
    assert dump([math.nan, math.inf, 1.5]) == b"[null,null,1.5]"


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"[]," * 2**21 + b"[]]",
        b"[" + b'"a",' * 2**22 + b'"a"]',
        b"[" + b"[]," * 2**21,  # cut: a second parser would try it
    ],
    ids=["brackets", "strings", "cut"],
)
def test_a_vendors_values_are_counted_before_they_take_gigabytes(text: bytes) -> None:
    with pytest.raises(ValueError, match="contains more than"):
        load_vendor(text)


def test_marks_in_a_long_text_are_no_values() -> None:
    text = "[{,:" * 2**20
    assert load_vendor(json.dumps([text]).encode()) == [text]
