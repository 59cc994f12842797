import json
from typing import Any

import pytest

from app.gateways.anthropic.gateway import AnthropicGateway
from app.gateways.anthropic.request import SUPPORTED
from app.vocabulary.chat.parameters import CHAT_PARAMETERS
from tests.gateways.anthropic.chat import (
    BUDGETS,
    EFFORTS,
    LAX,
    OLD,
    ROW,
    USER,
    call,
    calling,
    result,
    sent,
    tool,
)

SCHEMA = {
    "type": "object",
    "properties": {"z": {"type": "string"}, "a": {"type": "integer"}},
    "required": ["z", "a"],
    "additionalProperties": False,
}
FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
}


def test_a_text_is_the_users_message_and_nothing_is_added() -> None:
    assert sent(BUDGETS) == {"model": BUDGETS, "max_tokens": 64_000, "messages": [USER]}


@pytest.mark.parametrize(
    ("model", "limit"), [(OLD, 4096), ("claude-opus-4-1", 32_000), (EFFORTS, 64_000)]
)
def test_a_chat_without_a_limit_gets_the_models_own(model: str, limit: int) -> None:
    assert sent(model)["max_tokens"] == limit
    assert sent(model, max_tokens=5)["max_tokens"] == 5


def test_everything_else_has_its_word() -> None:
    body = ROW.sent(
        BUDGETS,
        max_completion_tokens=50,
        stop=["END", "\n"],
        temperature=0,
        top_p=1,
        user="u-1",
        service_tier="default",
        stream=True,
        stream_options={"include_usage": True},
        n=1,
    )
    assert {name: body[name] for name in body.keys() - {"model", "messages"}} == {
        "max_tokens": 50,
        "stop_sequences": ["END"],
        "temperature": 0,
        "metadata": {"user_id": "u-1"},
        "service_tier": "standard_only",
        "stream": True,
    }


def test_the_safety_identifier_replaces_the_user() -> None:
    body = sent(BUDGETS, user="u-1", safety_identifier="s-1")
    assert body["metadata"] == {"user_id": "s-1"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("audio", {"voice": "a", "format": "wav"}),
        ("frequency_penalty", 0.5),
        ("logit_bias", {"5": 1}),
        ("logprobs", True),
        ("metadata", {"a": "b"}),
        ("modalities", ["text", "audio"]),
        ("moderation", {"model": "m"}),
        ("prediction", {"type": "content", "content": "x"}),
        ("presence_penalty", 0.5),
        ("seed", 1),
        ("service_tier", "flex"),
        ("store", True),
        ("top_logprobs", 2),
        ("verbosity", "low"),
        ("a_field_of_next_year", 1),
    ],
)
def test_what_the_wire_has_no_word_for_is_refused_or_dropped_by_name(name: str, value: Any) -> None:
    assert ROW.refused(BUDGETS, **{name: value}) == name
    encoded = LAX.encoded(BUDGETS, **{name: value})
    assert encoded.dropped == (name,)
    assert json.loads(encoded.body) == sent(BUDGETS)


def test_the_table_of_what_is_refused_is_whole() -> None:
    for name in AnthropicGateway.unsupported:
        assert LAX.encoded(BUDGETS, **{name: "x"}).dropped == (name,)
    assert AnthropicGateway.unsupported | SUPPORTED == set(CHAT_PARAMETERS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("logprobs", False),
        ("modalities", ["text"]),
        ("parallel_tool_calls", True),
        ("response_format", {"type": "text"}),
        ("store", False),
        ("presence_penalty", 0),
        ("temperature", 1),
    ],
)
def test_what_changes_nothing_is_left_out(name: str, value: Any) -> None:
    assert sent(BUDGETS, **{name: value}) == sent(BUDGETS)


def test_hints_for_a_cache_are_left_out_and_told() -> None:
    encoded = ROW.encoded(BUDGETS, prompt_cache_key="k", prompt_cache_retention="24h")
    assert encoded.dropped == ("prompt_cache_key", "prompt_cache_retention")


def test_unknown_fields_are_refused() -> None:
    assert ROW.refused(BUDGETS, extra={"top_k": 5}) == "top_k"


@pytest.mark.parametrize("model", [BUDGETS, EFFORTS])
def test_a_schema_is_in_the_vendors_own_field_and_tools_are_the_callers_alone(model: str) -> None:
    body = sent(model, response_format=FORMAT, tools=[tool("f")])
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert [found["name"] for found in body["tools"]] == ["f"]
    assert "tool_choice" not in body
    assert list(body["output_config"]["format"]["schema"]["properties"]) == ["z", "a"]


def test_a_formats_description_becomes_the_schemas_own() -> None:
    told = {**FORMAT["json_schema"], "description": "An answer"}  # type: ignore[dict-item]
    body = sent(BUDGETS, response_format={"type": "json_schema", "json_schema": told})
    assert body["output_config"]["format"]["schema"] == {**SCHEMA, "description": "An answer"}


def test_a_schema_of_any_client_is_one_that_the_vendor_takes() -> None:
    """Pydantic and Zod write bounds, and most clients do not close objects."""
    schema = {"type": "object", "properties": {"n": {"type": "number", "minimum": 0}}}
    told = {"name": "answer", "schema": schema}
    encoded = ROW.encoded(BUDGETS, response_format={"type": "json_schema", "json_schema": told})
    assert json.loads(encoded.body)["output_config"]["format"]["schema"] == {
        "type": "object",
        "properties": {"n": {"type": "number"}},
        "additionalProperties": False,
    }
    assert encoded.dropped == ("minimum",)


@pytest.mark.parametrize(
    ("model", "form"),
    [(OLD, FORMAT), (BUDGETS, {"type": "json_object"}), (BUDGETS, {"type": "grammar"})],
)
def test_a_format_that_cannot_be_enforced_is_refused(model: str, form: Any) -> None:
    assert ROW.refused(model, response_format=form) == "response_format"
    encoded = LAX.encoded(model, response_format=form)
    assert encoded.dropped == ("response_format",)
    assert "output_config" not in json.loads(encoded.body)


def test_effort_and_schema_are_beside_each_other() -> None:
    body = sent(EFFORTS, response_format=FORMAT, reasoning_effort="low")
    assert body["output_config"].keys() == {"effort", "format"}


def test_what_an_entry_drops_is_not_sent_in_any_form() -> None:
    names = frozenset({"tools", "tool_choice", "response_format", "stop"})
    lax = type(ROW)(
        "anthropic", {"ANTHROPIC_API_KEY": "sk-test"}, unsupported=names, drop_unsupported=True
    )
    encoded = lax.encoded(
        BUDGETS, tools=[tool("f")], tool_choice="required", response_format=FORMAT, stop="END"
    )
    assert set(encoded.dropped) == names
    assert json.loads(encoded.body) == sent(BUDGETS)


def test_a_longer_conversation_begins_with_the_same_bytes() -> None:
    tools = [tool("f", parameters={"type": "object", "properties": {"z": {}, "a": {}}})]
    start = [{"role": "system", "content": "A"}, USER, calling(call("a.b")), result("a.b")]
    more = [*start, {"role": "assistant", "content": "A"}, USER]
    fields: dict[str, Any] = {"tools": tools, "user": "u", "stop": "END"}
    first = ROW.encoded(BUDGETS, start, **fields).body
    second = ROW.encoded(BUDGETS, more, **fields).body
    assert first.endswith(b"]}")
    assert second.startswith(first[:-2])
    assert list(json.loads(first))[-1] == "messages"


def test_an_id_of_the_end_user_beyond_the_vendors_limit_is_left_out_and_named() -> None:
    assert sent(BUDGETS, user="u" * 256)["metadata"] == {"user_id": "u" * 256}
    assert "metadata" not in sent(BUDGETS, user="u" * 257)
    assert ROW.encoded(BUDGETS, user="u" * 257).dropped == ("user",)
