"""Where JSON does not parse, and what to write instead."""

from json import JSONDecodeError

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.mistakes.json_syntax import explained


def said(body: bytes) -> str:
    """Return the sentence about a body that orjson refuses."""
    with pytest.raises(JSONDecodeError) as failed:
        orjson.loads(body)
    found = failed.value
    return explained(body, found.msg, found.lineno, found.colno, found.pos)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"a": tru}', "line 1, column 7: there is a word without quotes"),
        (b'{"a": NaN}', "no `NaN`"),
        (b'{"a": +Infinity}', "no `NaN`"),
        (b'{"a": False}', "Python's"),
        (b'{"a": "x" /* y */}', "no comments"),
        (b'{"a": "x" # y\n}', "line 1, column 11: JSON has no comments"),
        (b'{"a": 1; "b": 2}', "semicolon"),
        (b'{"a": "x" "b": 2}', "a comma or a closing bracket"),
        (b'{\\"a\\": 1}', "backslash outside of a string"),
        (b'```json\n{"a": 1}\n```', "backquote"),
        (b'{"a": `x`}', "backquote"),
        (b"b'{}'", "before a quote, as in Python"),
        (b'{"a": ("x",)}', "round bracket"),
        (b'{{"a": 1}}', "a brace too many"),
        ('{"a":\u00a0"x"}'.encode(), "line 1, column 6: there is an invisible character"),
        ('{"a": "x",\u200b"b": 1}'.encode(), "invisible character"),
        (b'{"a": /* y */ 1}', "no comments"),
        (b"{\"a\": 'x'}", "single quote"),
        ('{"a": \u201cx\u201d}'.encode(), "typographic quote"),
        (b'{"a": 1,, "b": 2}', "a comma too many"),
        (b'{"a": , "b": 2}', "a comma too many"),
        (b'{"\xc3\xa9": 1,\n\n "b": 1.}', "line 3, column"),
        (b'{"a": 1}x', "more after the end"),
        (b'{"a": ]}', "not what JSON has there"),
        (b"\x1f\x8b\x08", "content-encoding: gzip"),
        (b'{"a": "\xff"}', "from its byte 8 on"),
    ],
)
def test_the_place_and_the_fix_are_named(body: bytes, says: str) -> None:
    assert says in said(body)


@given(st.binary(max_size=60))
def test_any_bytes_get_one_sentence_that_repeats_nothing(junk: bytes) -> None:
    secret = b"s3cr3t-value"
    body = b'{"a": "' + secret + b'" ' + junk
    try:
        orjson.loads(body)
    except JSONDecodeError:
        found = said(body)
        assert secret.decode() not in found
        assert found.isprintable()
        assert found.endswith(".")
        assert len(found) < 260
