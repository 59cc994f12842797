"""Tools, their choice, and formats of the answer, in Cohere's words."""

from typing import Any

import pytest

from tests.gateways.cohere.chat import COHERE, PLAIN, refused, sent
from tests.gateways.gemini.chat import tool
from tests.gateways.gemini.test_tools import CITY, NAMED, SCHEMA, allowed

TWO = [tool("f", parameters=CITY, description="d"), tool("g")]


def offered(body: Any) -> list[str]:
    return [one["function"]["name"] for one in body.get("tools", [])]


@pytest.mark.parametrize("given", [{}, {"parameters": None}, {"parameters": {}}])
def test_a_tool_without_arguments_has_an_object_without_properties(given: Any) -> None:
    (one,) = sent(tools=[tool("f", **given)])["tools"]
    function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    assert one == {"type": "function", "function": function}


def test_tools_keep_their_order_and_their_schemas() -> None:
    body = sent(tools=TWO)
    assert offered(body) == ["f", "g"]
    function = {"name": "f", "description": "d", "parameters": CITY}
    assert body["tools"][0]["function"] == function
    assert "strict_tools" not in body


@pytest.mark.parametrize(
    ("choice", "names", "word"),
    [
        (None, ["f", "g"], None),
        ("auto", ["f", "g"], None),
        ("none", ["f", "g"], "NONE"),
        ("required", ["f", "g"], "REQUIRED"),
        (NAMED, ["g"], "REQUIRED"),
        (allowed("required"), ["g"], "REQUIRED"),
        (allowed("auto"), ["g"], None),
    ],
)
def test_a_choice_of_tools_is_never_wider_than_asked(
    choice: Any, names: list[str], word: str | None
) -> None:
    body = sent(tools=TWO, tool_choice=choice)
    assert (offered(body), body.get("tool_choice")) == (names, word)


def test_a_choice_that_names_no_tool_is_refused() -> None:
    choice = {"type": "function", "function": {"name": "x"}}
    assert refused(tools=TWO, tool_choice=choice) == "tool_choice"


def test_a_tool_that_is_no_function_is_refused() -> None:
    assert refused(tools=[{"type": "custom", "custom": {"name": "c"}}]) == "tools[0].type"


def test_strict_is_one_flag_for_all() -> None:
    strict = tool("f", parameters=CITY, strict=True)
    assert sent(tools=[strict])["strict_tools"] is True
    assert "strict_tools" not in sent(tools=[tool("g"), strict])
    assert COHERE.encoded(PLAIN, tools=[tool("g"), strict]).dropped == ("strict",)


def test_one_call_at_a_time_cannot_be_asked_for_unless_there_is_one_tool() -> None:
    assert "parallel_tool_calls" not in sent(tools=TWO[:1], parallel_tool_calls=False)
    assert sent(tools=TWO, tool_choice=NAMED, parallel_tool_calls=False)["tools"]
    assert refused(tools=TWO, parallel_tool_calls=False) == "parallel_tool_calls"


# Formats.


def test_plain_json_has_no_schema() -> None:
    body = sent(response_format={"type": "json_object"})
    assert body["response_format"] == {"type": "json_object"}


def test_a_schema_stands_where_cohere_reads_it() -> None:
    told = sent(response_format=SCHEMA)["response_format"]
    assert told == {"type": "json_object", "json_schema": CITY}
    wanted = {"name": "city", "schema": CITY, "description": "d"}
    told = sent(response_format={"type": "json_schema", "json_schema": wanted})["response_format"]
    assert told["json_schema"] == {**CITY, "description": "d"}


def test_text_is_what_cohere_answers_anyway() -> None:
    assert "response_format" not in sent(response_format={"type": "text"})


def test_a_format_and_tools_exclude_each_other() -> None:
    assert refused(tools=TWO, response_format=SCHEMA) == "response_format"


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ({"type": "grammar"}, "response_format.type"),
        (
            {"type": "json_schema", "json_schema": {"name": "a"}},
            "response_format.json_schema.schema",
        ),
    ],
)
def test_a_format_that_cohere_does_not_have_is_refused(wanted: Any, path: str) -> None:
    assert refused(response_format=wanted) == path
