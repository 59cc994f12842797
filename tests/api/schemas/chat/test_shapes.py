"""What the API's description allows is what is read, and the other way round."""

from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator

from app.api.schemas.chat import shapes
from tests.api.schemas.chat.loading import USER, load

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {}, "strict": None}}


def allows(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value is valid by a JSON Schema."""
    return bool(OAS31Validator(schema).is_valid(value))


@pytest.mark.parametrize(
    "message",
    [
        USER,
        {"role": "system", "content": [{"type": "text", "text": "x"}]},
        {"role": "developer", "content": "x", "name": None},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "content": "x", "tool_call_id": "c1"},
        {"role": "function", "name": "f", "content": None},
    ],
)
def test_good_messages_are_allowed_and_read(message: Any) -> None:
    assert allows(shapes.messages(), [message])
    assert load(messages=[message]).messages


@pytest.mark.parametrize(
    "message",
    [
        {"role": "boss", "content": "x"},
        {"role": "user", "content": None},
        {"role": "user", "content": []},
        {"role": "user", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "user", "content": [{"type": "file", "file": {}}]},
        {"role": "system", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "assistant"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "tool_calls": [{**CALL, "id": 1}]},
        {"role": "tool", "content": "x"},
        {"role": "function", "content": "x"},
    ],
)
def test_wrong_messages_are_neither(message: Any) -> None:
    assert not allows(shapes.messages(), [message])
    with pytest.raises(Exception, match=r"messages\[0\]"):
        load(messages=[message])


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "function": {"name": "f"}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [FUNCTION]}},
    ],
)
def test_tools_and_choices_are_allowed_and_read(choice: Any) -> None:
    assert allows(shapes.tools(), [FUNCTION])
    assert allows(shapes.tool_choice(), choice)
    assert load(tools=[FUNCTION], tool_choice=choice).tool_choice


def test_formats_functions_and_options_are_allowed() -> None:
    schema = {"name": "a", "schema": {"type": "object"}}
    assert allows(shapes.response_format(), {"type": "json_schema", "json_schema": schema})
    assert not allows(shapes.response_format(), {"type": "json_schema"})
    assert allows(shapes.functions(), [{"name": "f"}])
    assert allows(shapes.function_call(), {"name": "f"})
    assert not allows(shapes.function_call(), "required")
    options = shapes.options()
    assert allows(options["audio"], {"format": "mp3", "voice": {"id": "v"}})
    assert not allows(options["audio"], {"format": "mp3"})
    place = {"type": "approximate", "approximate": {"city": "Rome"}}
    assert allows(options["web_search_options"], {"user_location": place})
    assert not allows(options["web_search_options"], {"user_location": {"type": "approximate"}})
