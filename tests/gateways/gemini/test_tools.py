"""Tools, their choice, and formats of the answer, in Google's words."""

from typing import Any

import pytest

from app.gateways.gemini.request import GeminiGateway
from tests.gateways.chat_rows import reply_of
from tests.gateways.gemini.chat import (
    GEMINI,
    NEW,
    OLD,
    answered,
    config,
    function_call,
    sent,
    tool,
)

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def declared(*tools: Any, **fields: Any) -> Any:
    ((group,)) = sent(NEW, tools=list(tools), **fields)["tools"]
    return group["functionDeclarations"]


def chosen(choice: Any, *tools: Any, **fields: Any) -> Any:
    """Return the `functionCallingConfig` for a `tool_choice`; None if there is none."""
    body = sent(NEW, tools=list(tools) or [tool("f"), tool("g")], tool_choice=choice, **fields)
    return body.get("toolConfig", {}).get("functionCallingConfig")


def test_tools_keep_their_order_and_their_schemas() -> None:
    tools = [tool("f", description="d", parameters=CITY), tool("a", parameters=CITY)]
    assert declared(*tools) == [
        {"name": "f", "description": "d", "parametersJsonSchema": CITY},
        {"name": "a", "parametersJsonSchema": CITY},
    ]


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    ],
)
def test_a_tool_without_arguments_has_no_schema(parameters: Any) -> None:
    given = {} if parameters is None else {"parameters": parameters}
    assert declared(tool("f", **given)) == [{"name": "f"}]
    assert declared(tool("f", parameters=parameters)) == [{"name": "f"}]


def test_an_object_of_any_properties_has_arguments() -> None:
    parameters = {"type": "object", "additionalProperties": {"type": "string"}}
    (function,) = declared(tool("f", parameters=parameters))
    assert function["parametersJsonSchema"] == parameters


def test_a_schema_that_refers_to_itself_is_refused_by_the_tools_path() -> None:
    looped = tool("f", parameters={"type": "object", "properties": {"a": {"$ref": "#"}}})
    assert GEMINI.refused(NEW, tools=[looped]) == "tools[0].function.parameters"


@pytest.mark.parametrize("name", ["1f", "-f", ""])
def test_a_name_that_google_does_not_take_is_refused(name: str) -> None:
    path = GEMINI.refused(NEW, tools=[tool("f"), tool(name)])
    assert path == "tools[1].function.name"


def test_a_tool_that_is_no_function_is_refused() -> None:
    custom = {"type": "custom", "custom": {"name": "c"}}
    assert GEMINI.refused(NEW, tools=[custom]) == "tools[0].type"


NAMED = {"type": "function", "function": {"name": "g"}}


def allowed(mode: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": "g"}}]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


@pytest.mark.parametrize(
    ("choice", "mode"),
    [
        (None, None),
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (NAMED, {"mode": "ANY", "allowedFunctionNames": ["g"]}),
        (allowed("required"), {"mode": "ANY"}),
        (allowed("auto"), {"mode": "AUTO"}),
    ],
)
def test_a_choice_of_tools_is_never_wider_than_asked(choice: Any, mode: Any) -> None:
    assert chosen(choice) == mode


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_of_allowed_tools_no_others_are_declared(mode: str) -> None:
    (function,) = declared(tool("f"), tool("g"), tool_choice=allowed(mode))
    assert function["name"] == "g"


def test_a_choice_that_names_no_tool_is_refused() -> None:
    choice = {"type": "function", "function": {"name": "x"}}
    assert GEMINI.refused(NEW, tools=[tool("f")], tool_choice=choice) == "tool_choice"


@pytest.mark.parametrize(
    ("choice", "mode"),
    [(None, "VALIDATED"), ("auto", "VALIDATED"), ("none", "NONE"), ("required", "ANY")],
)
def test_strict_tools_are_validated(choice: Any, mode: str) -> None:
    tools = [tool("f", parameters=CITY, strict=True), tool("g", strict=None)]
    assert chosen(choice, *tools) == {"mode": mode}


def test_one_call_at_a_time_cannot_be_asked_for_unless_there_is_one_tool() -> None:
    one, two = [tool("f")], [tool("f"), tool("g")]
    assert "toolConfig" not in sent(NEW, tools=one, parallel_tool_calls=False)
    assert "toolConfig" not in sent(NEW, tools=two, parallel_tool_calls=True)
    path = GEMINI.refused(NEW, tools=two, parallel_tool_calls=False)
    assert path == "parallel_tool_calls"


def test_calls_in_a_history_need_no_tools() -> None:
    assert "tools" not in sent(NEW, "sum up")


# Formats.

SCHEMA = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY, "strict": True}}


def test_plain_json_has_no_schema() -> None:
    assert config(response_format={"type": "json_object"}) == {
        "responseMimeType": "application/json"
    }


def test_a_schema_goes_to_googles_own_field() -> None:
    assert config(response_format=SCHEMA) == {
        "responseMimeType": "application/json",
        "responseJsonSchema": CITY,
    }


def test_a_description_is_the_schemas_unless_it_has_its_own() -> None:
    def described(schema: Any) -> Any:
        wanted = {"name": "city", "schema": schema, "description": "ours"}
        told = config(response_format={"type": "json_schema", "json_schema": wanted})
        return told["responseJsonSchema"]["description"]

    assert described(CITY) == "ours"
    assert described({**CITY, "description": "its own"}) == "its own"


def test_text_is_what_google_answers_anyway() -> None:
    assert config(response_format={"type": "text"}) == {}


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ({"type": "grammar"}, "response_format.type"),
        (
            {"type": "json_schema", "json_schema": {"name": "a"}},
            "response_format.json_schema.schema",
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": {"$ref": "#"}}},
            "response_format.json_schema.schema",
        ),
    ],
)
def test_a_format_that_google_does_not_have_is_refused(wanted: Any, path: str) -> None:
    assert GEMINI.refused(NEW, response_format=wanted) == path


def test_a_format_stands_beside_tools_where_the_model_takes_both() -> None:
    body = sent(NEW, tools=[tool("f")], response_format=SCHEMA)
    assert body["tools"] == [{"functionDeclarations": [{"name": "f"}]}]
    assert "toolConfig" not in body
    assert body["generationConfig"]["responseJsonSchema"] == CITY
    assert GEMINI.refused(OLD, tools=[tool("f")], response_format=SCHEMA) == "response_format"
    call = answered(function_call("f", id="A"))
    assert (call.text, call.finish_reason) == ("", "tool_calls")
    assert len(reply_of(call).tool_calls) == 1
    text = answered('{"city": "Rome"}')
    assert (text.text, text.finish_reason) == ('{"city": "Rome"}', "stop")


def test_the_gateway_says_how_many_samples_one_call_gives() -> None:
    assert GeminiGateway.max_n == 8
    assert config(n=3) == {"candidateCount": 3}
