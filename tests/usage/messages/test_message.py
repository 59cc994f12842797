"""Strict decoding of messages: which field is wrong, and never what it holds."""

import pytest
from msgspec import Struct
from msgspec.json import Decoder

from app.usage.messages.message import (
    Number,
    Text,
    UndecodableMessage,
    Word,
    decode_message,
    json_object,
)


class Inner(Struct):
    text: Text


class Message(Struct):
    number: Number
    word: Word = "known"
    text: Text | None = None
    parts: tuple[Inner, ...] = ()


DECODER = Decoder(Message)

WRONG = {
    b"": "not JSON",
    b"{": "not JSON",
    b'{"number":"5"': "not JSON",  # the wrong number comes first, but the rest is not JSON
    b"[5]": "not a JSON object",
    b"{}": "number is missing",
    b'{"number":-1}': "number is of a wrong type or out of range",
    b'{"number":5,"word":"Two words"}': "word is of a wrong type or out of range",
    b'{"number":5,"word":"a\\n"}': "word is of a wrong type or out of range",
    b'{"number":5,"text":"secret\\u0000"}': "text is of a wrong type or out of range",
    b'{"number":5,"parts":[{"text":"secret\\u0000"}]}': "parts is of a wrong type or out of range",
    b'{"number":5,"parts":[{}]}': "parts is of a wrong type or out of range",
    b'{"number":5,"parts":[{"text":7}]}': "parts is of a wrong type or out of range",
}


@pytest.mark.parametrize(("raw", "problem"), WRONG.items())
def test_the_error_names_the_field_and_quotes_nothing(raw: bytes, problem: str) -> None:
    with pytest.raises(UndecodableMessage) as error:
        decode_message(DECODER, raw)
    assert str(error.value) == problem


def test_unknown_fields_and_later_words_are_accepted() -> None:
    raw = b'{"number":5,"word":"later_word","region":"eu"}'
    assert decode_message(DECODER, raw) == Message(5, "later_word")


def test_a_backslash_before_u0000_is_not_nul() -> None:
    message = decode_message(DECODER, b'{"number":5,"text":"\\\\u0000"}')
    assert message.text == "\\u0000"


def test_any_object_is_returned_whatever_its_fields() -> None:
    assert json_object(b'{"a":null}') == {"a": None}
    for raw, problem in ((b"[]", "not a JSON object"), (b"x", "not JSON")):
        with pytest.raises(UndecodableMessage, match=problem):
            json_object(raw)
