from typing import Any

import pytest

from tests.gateways.anthropic.chat import USER, call, calling, result, tool
from tests.gateways.bedrock.chat import BUDGETS, LAX, NOVA, OLD, QWEN, ROW, sent

NOTHING = {"json": {"type": "object", "properties": {}}}
F, G = tool("f", description="does f"), tool("g", description="")
LOOP = [USER, calling(call("a")), result("a"), {"role": "user", "content": "sum up"}]


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def names(body: dict[str, Any]) -> list[str]:
    return [found["toolSpec"]["name"] for found in body["toolConfig"]["tools"]]


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}])
def test_a_tool_without_arguments_has_an_empty_object(parameters: Any) -> None:
    body = sent(BUDGETS, tools=[tool("f", parameters=parameters), G])
    assert body["toolConfig"]["tools"][0] == {"toolSpec": {"name": "f", "inputSchema": NOTHING}}


@pytest.mark.parametrize("model", [BUDGETS, NOVA])
@pytest.mark.parametrize(
    ("choice", "theirs"),
    [
        (None, None),
        ("auto", None),
        ("required", {"any": {}}),
        (named("g"), {"tool": {"name": "g"}}),
    ],
)
def test_every_choice_has_its_word(model: str, choice: Any, theirs: Any) -> None:
    fields = {} if choice is None else {"tool_choice": choice}
    body = sent(model, tools=[F, G], **fields)
    assert body["toolConfig"].get("toolChoice") == theirs
    assert names(body) == ["f", "g"]


def test_none_withholds_the_tools_or_is_refused_beside_calls() -> None:
    assert "toolConfig" not in sent(BUDGETS, tools=[F], tool_choice="none")
    assert ROW.refused(BUDGETS, LOOP, tools=[F], tool_choice="none") == "tool_choice"


@pytest.mark.parametrize("choice", ["required", named("f")])
def test_a_forced_call_is_refused_where_the_model_refuses_it(choice: Any) -> None:
    assert ROW.refused(QWEN, tools=[F], tool_choice=choice) == "tool_choice"
    fields: dict[str, Any] = {"reasoning_effort": "low", "max_tokens": 8000}
    assert ROW.refused(BUDGETS, tools=[F], tool_choice=choice, **fields) == "tool_choice"


@pytest.mark.parametrize(("mode", "theirs"), [("auto", None), ("required", {"any": {}})])
def test_allowed_tools_are_the_only_ones(mode: str, theirs: Any) -> None:
    allowed = {"mode": mode, "tools": [named("g")]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    body = sent(BUDGETS, tools=[F, G], tool_choice=choice)
    assert names(body) == ["g"]
    assert body["toolConfig"].get("toolChoice") == theirs


def test_calls_of_before_need_a_list() -> None:
    body = sent(BUDGETS, LOOP)
    assert body["toolConfig"] == {"tools": [{"toolSpec": {"name": "f", "inputSchema": NOTHING}}]}
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]


def test_one_call_at_a_time_is_claudes_own_field() -> None:
    single = {"disable_parallel_tool_use": True}
    body = sent(BUDGETS, tools=[F], parallel_tool_calls=False)
    assert body["additionalModelRequestFields"] == {"tool_choice": {"type": "auto", **single}}
    body = sent(BUDGETS, tools=[F], parallel_tool_calls=False, tool_choice="required")
    assert body["additionalModelRequestFields"] == {"tool_choice": single}
    two = {"tools": [F, tool("g")], "parallel_tool_calls": False}
    assert ROW.refused(NOVA, **two) == "parallel_tool_calls"
    assert LAX.encoded(NOVA, **two).dropped == ("parallel_tool_calls",)
    assert "additionalModelRequestFields" not in sent(NOVA, tools=[F], parallel_tool_calls=False)
    assert "additionalModelRequestFields" not in sent(BUDGETS, tools=[F], parallel_tool_calls=True)


def test_the_schema_of_a_strict_tool_is_what_the_vendor_takes() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number", "minimum": 0}}}
    encoded = ROW.encoded(BUDGETS, tools=[tool("f", strict=True, parameters=schema)])
    assert encoded.dropped == ("minimum",)
    assert (
        b'{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":false}'
        in (encoded.body)
    )


def test_strict_tools_are_strict_where_the_model_has_that() -> None:
    strict = tool("f", strict=True)
    assert sent(BUDGETS, tools=[strict])["toolConfig"]["tools"][0]["toolSpec"]["strict"] is True
    encoded = ROW.encoded(OLD, tools=[strict])
    assert encoded.dropped == ("strict",)
    assert b"strict" not in encoded.body
