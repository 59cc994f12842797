from typing import Any

import pytest

from app.gateways.conversation.tools import (
    called_tools,
    check_calls,
    object_schema,
    offered_tools,
)
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest
from tests.gateways.chat_rows import asked

VENDOR = Vendor(name="v", gateway="anthropic", base_url="http://x")


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **fields}}


TOOLS = [tool("f"), tool("g"), tool("h")]
NOTHING = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "fields",
    [{}, {"parameters": None}, {"parameters": {}}, {"parameters": {"type": "object"}},
     {"parameters": {"type": "object", "properties": None}}],
)  # fmt: skip
def test_no_arguments_are_said_in_one_way(fields: dict[str, Any]) -> None:
    (one,) = asked("v/m", "hi", tools=[tool("f", **fields)]).tools
    assert object_schema(one) == NOTHING


def test_a_schema_stays_as_it_is_and_in_its_order() -> None:
    schema = {"properties": {"z": {}, "a": {"title": "A"}}, "required": ["z"], "type": "object"}
    (one,) = asked("v/m", "hi", tools=[tool("f", parameters=schema)]).tools
    assert list(object_schema(one).items()) == list(schema.items())


def test_allowed_tools_are_the_only_ones_offered() -> None:
    allowed = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "g"}}]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    request = asked("v/m", "hi", tools=TOOLS, tool_choice=choice)
    assert [one.name for one in offered_tools(VENDOR, request)] == ["g"]


def test_a_named_tool_is_offered_with_the_others() -> None:
    named = {"type": "function", "function": {"name": "g"}}
    request = asked("v/m", "hi", tools=TOOLS, tool_choice=named)
    assert [one.name for one in offered_tools(VENDOR, request)] == ["f", "g", "h"]


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "function": {"name": "x"}},
        {"type": "allowed_tools",
         "allowed_tools": {"mode": "auto", "tools": [{"function": {"name": "x"}}]}},
    ],
)  # fmt: skip
def test_a_choice_of_a_tool_that_is_not_there_is_refused(choice: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        offered_tools(VENDOR, asked("v/m", "hi", tools=TOOLS, tool_choice=choice))
    assert caught.value.param == "tool_choice"


def test_tools_and_calls_that_are_no_functions_are_refused_by_their_type() -> None:
    custom = {"type": "custom", "custom": {"name": "f"}}
    with pytest.raises(InvalidRequest) as caught:
        offered_tools(VENDOR, asked("v/m", "hi", tools=[tool("f"), custom]))
    assert caught.value.param == "tools[1].type"
    call = {"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}
    history = asked("v/m", [{"role": "assistant", "tool_calls": [call]}])
    with pytest.raises(InvalidRequest) as caught:
        check_calls(VENDOR, history.messages)
    assert caught.value.param == "messages[0].tool_calls[0].type"


def test_what_a_conversation_has_called_is_a_list_of_tools() -> None:
    calls = [
        {"id": it, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for it, name in (("1", "g"), ("2", "f"), ("3", "g"))
    ]
    request = asked("v/m", [{"role": "assistant", "tool_calls": calls}])
    assert [(one.name, object_schema(one)) for one in called_tools(request.messages)] == [
        ("g", NOTHING),
        ("f", NOTHING),
    ]


def test_the_arguments_of_all_calls_have_the_limits_of_a_body() -> None:
    arguments = '{"a": [' + ", ".join(["[]"] * 40_000) + "]}"
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": arguments}}
        for at in range(2)
    ]
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": calls}]
    with pytest.raises(InvalidRequest, match=r"`arguments` of calls in `messages` contains more"):
        check_calls(VENDOR, asked("anthropic/m", messages).messages)
    one = [messages[0], {"role": "assistant", "tool_calls": calls[:1]}]
    check_calls(VENDOR, asked("anthropic/m", one).messages)
