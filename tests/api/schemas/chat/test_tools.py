"""Tools, the choice among them, and the functions that came before."""

from typing import Any

import pytest

from app.api.schemas.chat.tools import TOOLS_LIMIT
from app.vocabulary.chat.tools import Tool, ToolChoice
from tests.api.schemas.chat.loading import load, problem

MISSING, TYPE, VALUE = "missing_required_parameter", "invalid_type", "invalid_value"
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "$defs": {"z": {}, "a": {}},
}


def function(name: str = "f", **more: Any) -> dict[str, Any]:
    """Return a tool that is a function."""
    return {"type": "function", "function": {"name": name, **more}}


F, G = function("f"), function("g")


def test_a_function_is_read_and_its_schema_stays_as_it_is() -> None:
    source = function(description="does", parameters=SCHEMA, strict=True)
    (tool,) = load(tools=[source]).tools
    assert tool == Tool(
        type="function",
        path="tools[0]",
        source=source,
        name="f",
        description="does",
        parameters=SCHEMA,
        strict=True,
    )
    assert list(tool.parameters["$defs"]) == ["z", "a"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("more", "parameters"),
    [({}, None), ({"parameters": None}, None), ({"parameters": {}}, {})],
)
def test_a_function_may_have_no_parameters(more: Any, parameters: Any) -> None:
    request = load(tools=[function(**more, strict=None, description=None)])
    assert request.tools[0].parameters == parameters
    kept = {} if parameters is None else {"parameters": parameters}
    assert request.options["tools"] == [function(**kept)]


def test_a_custom_tool_and_a_vendors_own_are_kept() -> None:
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: A"}}
    custom = {"type": "custom", "custom": {"name": "c", "description": "d", "format": grammar}}
    own = {"type": "web_search_20250305", "max_uses": 3}
    tools = load(tools=[custom, own]).tools
    assert [(tool.type, tool.name, tool.source) for tool in tools] == [
        ("custom", "c", custom),
        ("web_search_20250305", "", own),
    ]


@pytest.mark.parametrize(
    ("tool", "wrong"),
    [
        ("f", ("", TYPE)),
        ({}, (".type", MISSING)),
        ({"type": "function"}, (".function", MISSING)),
        ({"type": "function", "function": "f"}, (".function", TYPE)),
        ({"type": "function", "function": {}}, (".function.name", MISSING)),
        (function("a b"), (".function.name", VALUE)),
        (function("a.b"), (".function.name", VALUE)),
        (function(""), (".function.name", VALUE)),
        (function("f\n"), (".function.name", VALUE)),
        (function("f" * 65), (".function.name", VALUE)),
        (function(description=1), (".function.description", TYPE)),
        (function(parameters="{}"), (".function.parameters", TYPE)),
        (function(parameters=[]), (".function.parameters", TYPE)),
        (function(strict="yes"), (".function.strict", TYPE)),
        ({"type": "custom", "custom": {"name": ""}}, (".custom.name", VALUE)),
        (
            {"type": "custom", "custom": {"name": "c", "format": {}}},
            (".custom.format.type", MISSING),
        ),
        (
            {
                "type": "custom",
                "custom": {
                    "name": "c",
                    "format": {
                        "type": "grammar",
                        "grammar": {"syntax": "bnf", "definition": "x"},
                    },
                },
            },
            (".custom.format.grammar.syntax", VALUE),
        ),
    ],
)
def test_what_is_wrong_with_a_tool_is_named(tool: Any, wrong: tuple[str, str]) -> None:
    path, code = problem(tools=[F, tool])
    assert (path.removeprefix("tools[1]"), code) == wrong


def test_there_may_be_128_tools() -> None:
    tools = [function(f"f{at}") for at in range(TOOLS_LIMIT + 1)]
    assert len(load(tools=tools[:-1]).tools) == TOOLS_LIMIT == 128
    assert problem(tools=tools) == ("tools", VALUE)
    assert problem(tools="f") == ("tools", TYPE)


@pytest.mark.parametrize("tools", [{"tools": []}, {"tools": None}, {}])
@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_an_empty_list_is_none_and_what_goes_with_it_goes(tools: Any, choice: Any) -> None:
    request = load(**tools, tool_choice=choice, parallel_tool_calls=True)
    assert (request.tools, request.tool_choice) == ((), None)
    assert dict(request.options) == {}


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "f"}}])
def test_a_call_cannot_be_demanded_without_tools(choice: Any) -> None:
    assert problem(tools=[], tool_choice=choice) == ("tool_choice", VALUE)
    assert problem(tool_choice=choice) == ("tool_choice", VALUE)


@pytest.mark.parametrize(
    ("choice", "read"),
    [
        ("none", ToolChoice("none")),
        ("auto", ToolChoice("auto")),
        ("required", ToolChoice("required")),
        ({"type": "function", "function": {"name": "g"}}, ToolChoice("named", ("g",))),
        ({"type": "custom", "custom": {"name": "g"}}, ToolChoice("named", ("g",))),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [F, G]}},
            ToolChoice("allowed", ("f", "g")),
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [G]}},
            ToolChoice("allowed", ("g",), is_required=True),
        ),
    ],
)
def test_a_choice_is_read_and_kept_as_it_was_written(choice: Any, read: ToolChoice) -> None:
    request = load(tools=[F, G], tool_choice=choice)
    assert request.tool_choice == read
    assert request.options["tool_choice"] == choice


@pytest.mark.parametrize(
    ("choice", "wrong"),
    [
        (1, ("tool_choice", TYPE)),
        ("any", ("tool_choice", VALUE)),
        ({}, ("tool_choice.type", MISSING)),
        ({"type": "tool"}, ("tool_choice.type", VALUE)),
        ({"type": "function"}, ("tool_choice.function", MISSING)),
        ({"type": "function", "function": {}}, ("tool_choice.function.name", MISSING)),
        ({"type": "function", "function": {"name": "h"}}, ("tool_choice", VALUE)),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": [F]}},
            ("tool_choice.allowed_tools.mode", VALUE),
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}},
            ("tool_choice.allowed_tools.tools", MISSING),
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
            ("tool_choice.allowed_tools.tools", VALUE),
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [function("h")]}},
            ("tool_choice", VALUE),
        ),
    ],
)
def test_what_is_wrong_with_a_choice_is_named(choice: Any, wrong: tuple[str, str]) -> None:
    assert problem(tools=[F, G], tool_choice=choice) == wrong


def test_the_old_functions_are_kept_as_they_are() -> None:
    functions = [{"name": "f", "parameters": SCHEMA}]
    request = load(functions=functions, function_call={"name": "f"})
    assert dict(request.options) == {"functions": functions, "function_call": {"name": "f"}}
    assert load(functions=functions, function_call="auto").options["function_call"] == "auto"
    assert dict(load(functions=[], function_call="none").options) == {}


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"functions": "f"}, ("functions", TYPE)),
        ({"functions": [{}]}, ("functions[0].name", MISSING)),
        ({"functions": [{"name": "a b"}]}, ("functions[0].name", VALUE)),
        ({"function_call": 1}, ("function_call", TYPE)),
        ({"function_call": "required"}, ("function_call", VALUE)),
        ({"function_call": {"name": "f"}}, ("function_call", VALUE)),
        ({"functions": [{"name": "f"}], "function_call": {}}, ("function_call.name", MISSING)),
    ],
)
def test_what_is_wrong_with_functions_is_named(fields: Any, wrong: tuple[str, str]) -> None:
    assert problem(**fields) == wrong
