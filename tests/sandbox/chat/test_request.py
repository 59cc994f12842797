"""Chat requests to the sandbox, checked as OpenAI checks them."""

from typing import Any

import pytest

from app.sandbox.chat.request import load_chat
from app.sandbox.errors import SandboxError
from tests.sandbox.chat.asking import function, load, refused

F, G = function("f"), function("g")
CUSTOM = {"type": "custom", "custom": {"name": "c"}}


def allowed(mode: str, *tools: Any) -> dict[str, Any]:
    """Return a choice of some tools."""
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)}}


def test_absent_and_null_fields_have_defaults() -> None:
    for request in (load(), load(n=None, stop=None, stream=None, tools=None, tool_choice=None)):
        assert (request.n, request.stop, request.stream, request.logprobs) == (1, (), False, False)
        assert (request.mode, request.tools, request.max_tokens) == ("auto", [], None)
        assert request.response_format == {"type": "text"}
        assert request.is_parallel


def test_either_name_of_the_limit_is_taken() -> None:
    assert load(max_tokens=3).max_tokens == load(max_completion_tokens=3).max_tokens == 3


@pytest.mark.parametrize(
    ("choice", "mode", "names"),
    [
        ("none", "none", ["f", "g"]),
        ("auto", "auto", ["f", "g"]),
        ("required", "required", ["f", "g"]),
        ({"type": "function", "function": {"name": "g"}}, "required", ["g"]),
        (allowed("auto", G), "auto", ["g"]),
        (allowed("required", G, F), "required", ["g", "f"]),
    ],
)
def test_a_choice_says_which_tools_may_be_called(choice: Any, mode: str, names: list[str]) -> None:
    request = load(tools=[F, G], tool_choice=choice)
    assert (request.mode, [tool["name"] for tool in request.tools]) == (mode, names)
    assert request.all_tools == [F, G]


def test_a_custom_tool_may_be_called() -> None:
    assert load(tools=[CUSTOM]).tools == [{"type": "custom", "name": "c"}]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"max_tokens": 3, "max_completion_tokens": 3}, "max_tokens"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"stream_options": {}}, "stream_options"),
        ({"prompt": "x"}, "prompt"),
        ({"functions": []}, "functions"),
        ({"tools": []}, "tools"),
        ({"tools": [{}]}, "tools[0]"),
        ({"tools": [F, {"type": "function", "function": {}}]}, "tools[1]"),
        ({"tools": [function("f", "no schema")]}, "tools[0].function.parameters"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"parallel_tool_calls": True}, "parallel_tool_calls"),
        ({"tools": [F], "tool_choice": "any"}, "tool_choice"),
        ({"tools": [F], "tool_choice": {"type": "function"}}, "tool_choice"),
        (
            {"tools": [F], "tool_choice": {"type": "function", "function": {"name": "g"}}},
            "tool_choice",
        ),
        ({"tools": [F], "tool_choice": allowed("auto")}, "tool_choice"),
        ({"tools": [F], "tool_choice": allowed("auto", "f")}, "tool_choice"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"model": "echo?calls=17"}, "model"),
        ({"model": "echo?reasoning=-1"}, "model"),
    ],
)
def test_the_invalid_field_is_named(fields: dict[str, Any], param: str) -> None:
    assert refused(**fields) == param


@pytest.mark.parametrize("body", [None, [], "text"])
def test_a_body_is_an_object(body: Any) -> None:
    with pytest.raises(SandboxError, match="JSON object"):
        load_chat(body)
