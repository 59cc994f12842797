from typing import Any

import pytest

from app.formats import strict_json
from app.formats.strict_json import DIGITS_LIMIT
from app.gateways.conversation.arguments import arguments_object
from app.vocabulary.errors import InvalidRequest
from tests.gateways.chat_rows import asked


def parsed(text: str) -> Any:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": text}}
    first = {"role": "assistant", "tool_calls": [{**call, "id": "b"}, call]}
    (message,) = asked("v/m", [first]).messages
    return arguments_object(message, 1, message.tool_calls[1])


@pytest.mark.parametrize(
    "text",
    ['{"a":1}{"b":2}', '{"a":', "[1]", '"x"', "5", '{"a":NaN}', '{"a":1e999}',
     "[" * 100_000, '{"a":' + "9" * 5_000 + "}"],
)  # fmt: skip
def test_arguments_that_are_no_object_are_named_by_their_path(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parsed(text)
    assert caught.value.param == "messages[0].tool_calls[1].function.arguments"


@pytest.mark.parametrize("text", ["", " ", "{}", "null", " null "])
def test_no_text_means_no_arguments(text: str) -> None:
    assert parsed(text) == {}


@pytest.mark.parametrize(
    "text", ['{"z":1,"a":[1.5,null]}', '{"n":123456789012345678901234567890}', '{"t":"\u00e4\\n"}']
)
def test_order_and_values_stay_as_they_are(text: str) -> None:
    assert strict_json.dump(parsed(text)).decode() == text


@pytest.mark.parametrize("inner", ["[" * 64 + "]" * 64, "9" * (DIGITS_LIMIT + 1)])
def test_arguments_that_take_long_are_refused_by_their_path(inner: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parsed(f'{{"a": {inner}}}')
    assert caught.value.param == "messages[0].tool_calls[1].function.arguments"
