from typing import Any

import pytest

from tests.gateways.anthropic.chat import (
    BUDGETS,
    OLD,
    ROW,
    USER,
    call,
    calling,
    result,
    sent,
    tool,
)

NOTHING = {"type": "object", "properties": {}}
F, G = tool("f", description="does f"), tool("g")


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    "parameters", [None, {}, {"type": "object"}, {"type": "object", "properties": None}]
)
def test_a_tool_without_arguments_has_an_empty_object(parameters: Any) -> None:
    (found,) = sent(BUDGETS, tools=[tool("f", parameters=parameters)])["tools"]
    assert found == {"name": "f", "input_schema": NOTHING}


def test_a_schema_arrives_in_the_callers_order() -> None:
    schema = {"type": "object", "properties": {"z": {}, "a": {}, "m": {}}, "required": ["z"]}
    body = ROW.encoded(BUDGETS, tools=[tool("f", parameters=schema)]).body
    assert b'"properties":{"z":{},"a":{},"m":{}},"required":["z"]' in body


@pytest.mark.parametrize(
    ("choice", "theirs"),
    [
        (None, None),
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        (named("g"), {"type": "tool", "name": "g"}),
    ],
)
def test_every_choice_has_its_word(choice: Any, theirs: Any) -> None:
    fields = {} if choice is None else {"tool_choice": choice}
    body = sent(BUDGETS, tools=[F, G], **fields)
    assert body.get("tool_choice") == theirs
    assert [found["name"] for found in body["tools"]] == ["f", "g"]


@pytest.mark.parametrize(("mode", "theirs"), [("auto", "auto"), ("required", "any")])
def test_allowed_tools_are_the_only_ones(mode: str, theirs: str) -> None:
    allowed = {"mode": mode, "tools": [named("g")]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    body = sent(BUDGETS, tools=[F, G], tool_choice=choice)
    assert [found["name"] for found in body["tools"]] == ["g"]
    assert body["tool_choice"] == {"type": theirs}


def test_a_choice_of_an_unknown_tool_is_refused() -> None:
    assert ROW.refused(BUDGETS, tools=[F], tool_choice=named("x")) == "tool_choice"


@pytest.mark.parametrize(
    ("choice", "theirs"),
    [
        (None, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", {"type": "any", "disable_parallel_tool_use": True}),
        ("none", {"type": "none"}),
    ],
)
def test_one_call_at_a_time_rides_on_the_choice(choice: Any, theirs: Any) -> None:
    fields = {} if choice is None else {"tool_choice": choice}
    body = sent(BUDGETS, tools=[F], parallel_tool_calls=False, **fields)
    assert body["tool_choice"] == theirs
    assert "tool_choice" not in sent(BUDGETS, tools=[F], parallel_tool_calls=True)


def test_calls_of_before_need_a_list_and_none_may_be_called() -> None:
    messages = [USER, calling(call("a")), result("a"), {"role": "user", "content": "sum up"}]
    body = sent(BUDGETS, messages)
    assert body["tools"] == [{"name": "f", "input_schema": NOTHING}]
    assert body["tool_choice"] == {"type": "none"}
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]


def test_a_forced_call_is_refused_where_the_model_refuses_it() -> None:
    for choice in ("required", named("f")):
        assert ROW.refused("claude-opus-5-5", tools=[F], tool_choice=choice) == "tool_choice"
        thinking = {"reasoning_effort": "low", "max_completion_tokens": 8000}
        assert ROW.refused(BUDGETS, tools=[F], tool_choice=choice, **thinking) == "tool_choice"
    assert sent("claude-opus-5-5", tools=[F], tool_choice="auto")["tool_choice"]


def test_strict_tools_are_strict_where_the_model_has_that() -> None:
    strict = tool("f", strict=True, parameters={"type": "object", "properties": {}})
    assert sent(BUDGETS, tools=[strict])["tools"][0]["strict"] is True
    assert "strict" not in sent(OLD, tools=[tool("f", strict=False)])["tools"][0]
    encoded = ROW.encoded(OLD, tools=[strict])
    assert encoded.dropped == ("strict",)
    assert b"strict" not in encoded.body


def test_the_schema_of_a_strict_tool_is_what_the_vendor_takes() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number", "minimum": 0}}}
    encoded = ROW.encoded(BUDGETS, tools=[tool("f", strict=True, parameters=schema)])
    assert encoded.dropped == ("minimum",)
    assert (
        b'{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}'
        in (encoded.body)
    )
    loose = tool("f", parameters=schema)
    assert sent(BUDGETS, tools=[loose])["tools"][0]["input_schema"] == schema


def test_what_is_no_function_is_refused() -> None:
    custom = {"type": "custom", "custom": {"name": "f"}}
    assert ROW.refused(BUDGETS, tools=[F, custom]) == "tools[1].type"


@pytest.mark.parametrize("field", ["functions", "function_call"])
def test_the_old_fields_are_refused_with_a_hint(field: str) -> None:
    assert ROW.refused(BUDGETS, **{field: [{"name": "f"}]}) == field


def test_searching_the_web_is_a_tool_that_the_vendor_runs() -> None:
    place = {"type": "approximate", "approximate": {"city": "Rome", "country": None}}
    options = {"search_context_size": "medium", "user_location": place}
    body = sent(BUDGETS, web_search_options=options, tools=[F])
    assert body["tools"][1] == {
        "type": "web_search_20250305",
        "name": "web_search",
        "user_location": {"type": "approximate", "city": "Rome"},
    }
    assert sent(BUDGETS, web_search_options={})["tools"] == [
        {"type": "web_search_20250305", "name": "web_search"}
    ]
    path = "web_search_options.search_context_size"
    assert ROW.refused(BUDGETS, web_search_options={"search_context_size": "high"}) == path
