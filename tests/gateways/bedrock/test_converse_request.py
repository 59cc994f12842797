import json
from typing import Any

import pytest

from app.gateways.bedrock.converse import ConverseGateway
from app.gateways.bedrock.converse_request import SUPPORTED
from app.vocabulary.chat.parameters import CHAT_PARAMETERS
from tests.gateways.anthropic.chat import USER, call, calling, result, tool
from tests.gateways.bedrock.chat import BUDGETS, EFFORTS, LAX, NOVA, OLD, ROW, sent

SCHEMA = {
    "type": "object",
    "properties": {"z": {"type": "string"}, "a": {"type": "integer"}},
    "additionalProperties": False,
}
FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "description": "An answer", "strict": True, "schema": SCHEMA},
}


def test_everything_has_its_word() -> None:
    body = sent(
        NOVA,
        max_completion_tokens=50,
        stop="END",
        temperature=0,
        top_p=0.5,
        user="u-1",
        metadata={"team": "a"},
        service_tier="flex",
        stream=True,
        n=1,
    )
    assert body == {
        "inferenceConfig": {
            "maxTokens": 50,
            "stopSequences": ["END"],
            "temperature": 0,
            "topP": 0.5,
        },
        "requestMetadata": {"team": "a", "user": "u-1"},
        "serviceTier": {"type": "flex"},
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("audio", {"voice": "a", "format": "wav"}),
        ("frequency_penalty", 0.5),
        ("logit_bias", {"5": 1}),
        ("logprobs", True),
        ("modalities", ["text", "audio"]),
        ("moderation", {"model": "m"}),
        ("prediction", {"type": "content", "content": "x"}),
        ("presence_penalty", 0.5),
        ("seed", 1),
        ("service_tier", "scale"),
        ("store", True),
        ("top_logprobs", 2),
        ("verbosity", "low"),
        ("web_search_options", {}),
        ("a_field_of_next_year", 1),
    ],
)
def test_what_the_wire_has_no_word_for_is_refused_or_dropped_by_name(name: str, value: Any) -> None:
    assert ROW.refused(BUDGETS, **{name: value}) == name
    encoded = LAX.encoded(BUDGETS, **{name: value})
    assert encoded.dropped == (name,)
    assert json.loads(encoded.body) == sent(BUDGETS)


def test_the_table_of_what_is_refused_is_whole() -> None:
    assert ConverseGateway.unsupported | SUPPORTED == set(CHAT_PARAMETERS)


@pytest.mark.parametrize(
    "metadata", [{"a": "caf\u00e9"}, {"a|b": "x"}, {str(n): "x" for n in range(16)}]
)
def test_metadata_that_the_vendor_rejects_is_refused(metadata: dict[str, str]) -> None:
    fields: dict[str, Any] = {"user": "u"} if len(metadata) == 16 else {}
    assert ROW.refused(BUDGETS, metadata=metadata, **fields) == "metadata"


def test_a_temperature_is_refused_by_models_without_sampling() -> None:
    assert ROW.refused("anthropic.claude-opus-4-8-v1", temperature=0.5) == "temperature"
    assert ROW.refused(BUDGETS, temperature=1.5) == "temperature"
    assert "inferenceConfig" not in sent("anthropic.claude-opus-4-8-v1", temperature=1)


def test_a_schema_is_in_the_vendors_own_field_as_the_caller_wrote_it() -> None:
    body = sent(BUDGETS, response_format=FORMAT, tools=[tool("f")])
    schema = body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert schema.pop("schema") == json.dumps(SCHEMA, separators=(",", ":"))
    assert schema == {"name": "answer", "description": "An answer"}
    assert len(body["toolConfig"]["tools"]) == 1
    assert "toolChoice" not in body["toolConfig"]
    assert sent(EFFORTS, response_format=FORMAT, reasoning_effort="low")["outputConfig"].keys() == {
        "effort",
        "textFormat",
    }


def test_a_schema_of_any_client_is_one_that_the_vendor_takes() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number", "minimum": 0}}}
    told = {"name": "answer", "schema": schema}
    encoded = ROW.encoded(BUDGETS, response_format={"type": "json_schema", "json_schema": told})
    form = json.loads(encoded.body)["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert json.loads(form["schema"]) == {
        "type": "object",
        "properties": {"n": {"type": "number"}},
        "additionalProperties": False,
    }
    assert encoded.dropped == ("minimum",)


@pytest.mark.parametrize(("model", "form"), [(OLD, FORMAT), (BUDGETS, {"type": "json_object"})])
def test_a_format_that_cannot_be_enforced_is_refused(model: str, form: Any) -> None:
    assert ROW.refused(model, response_format=form) == "response_format"
    assert LAX.encoded(model, response_format=form).dropped == ("response_format",)


def test_hints_for_a_cache_are_left_out_and_told() -> None:
    assert ROW.encoded(BUDGETS, prompt_cache_key="k").dropped == ("prompt_cache_key",)


def test_a_longer_conversation_begins_with_the_same_bytes() -> None:
    start = [{"role": "system", "content": "A"}, USER, calling(call("a b")), result("a b")]
    more = [*start, {"role": "assistant", "content": "A"}, USER]
    fields: dict[str, Any] = {"tools": [tool("f")], "user": "u"}
    first = ROW.encoded(BUDGETS, start, **fields).body
    assert ROW.encoded(BUDGETS, more, **fields).body.startswith(first[:-2])
    assert list(json.loads(first))[-1] == "messages"


def test_bounds_that_only_say_what_javascript_can_hold_are_left_out() -> None:
    bounds = {"minimum": -(2**53 - 1), "maximum": 2**53 - 1}
    schema = {**SCHEMA, "properties": {"a": {"type": "integer", **bounds}}}
    plain = {**SCHEMA, "properties": {"a": {"type": "integer"}}}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    told = sent(BUDGETS, response_format=form)["outputConfig"]["textFormat"]["structure"]
    assert json.loads(told["jsonSchema"]["schema"]) == plain
    tool = {"name": "f", "parameters": schema, "strict": True}
    [found] = sent(BUDGETS, tools=[{"type": "function", "function": tool}])["toolConfig"]["tools"]
    assert found["toolSpec"]["inputSchema"]["json"] == plain


def test_a_conversation_begins_with_a_user() -> None:
    said = {"role": "assistant", "content": "Hello!"}
    assert ROW.refused(BUDGETS, [said, {"role": "user", "content": "hi"}]) == "messages[0]"
