"""Chat requests to OpenAI-compatible vendors: as written, but for what an entry says."""

import dataclasses
import json
from typing import Any

import pytest

from app.vocabulary.errors import UnsupportedParameter
from tests.gateways.chat_rows import ChatRow
from tests.gateways.openai.chat_vendors import EACH, ENV, LAUNCH, ROWS, USER, function

#: A schema with keywords that vendors of other formats refuse, and its keys in no order.
SCHEMA = {
    "type": "object",
    "$defs": {"z": {"type": ["array", "null"], "items": {"$ref": "#/$defs/z"}}},
    "properties": {"title": {"default": None}, "default": {"$ref": "#/$defs/z"}},
    "required": ["title"],
    "additionalProperties": False,
}
TOOL = function(parameters=SCHEMA, strict=True, description="d")
FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}}
PLAIN = {"model": "m", "messages": [USER]}

#: What is sent with each request of a vendor.
ALWAYS = {"fireworks_ai": {"context_length_exceeded_behavior": "error"}}


def refusal(row: ChatRow, model: str = "m", **fields: Any) -> UnsupportedParameter:
    """Return the error that a request with these fields is."""
    with pytest.raises(UnsupportedParameter) as caught:
        row.sent(model, **fields)
    assert caught.value.status == 400
    return caught.value


@EACH
def test_nothing_is_added(row: ChatRow) -> None:
    assert row.sent("m") == PLAIN | ALWAYS.get(row.vendor.name, {})


@EACH
def test_a_stream_is_asked_for_with_its_usage_where_the_vendor_can_be_asked(row: ChatRow) -> None:
    sent = row.sent("m", stream=True)
    assert sent["stream"] is True
    if row.vendor.asks_usage:
        assert sent["stream_options"]["include_usage"] is True
    else:
        assert "stream_options" not in sent


@EACH
def test_fields_beyond_the_contract_reach_the_vendor(row: ChatRow) -> None:
    assert (
        row.sent("m", extra={"top_k": 5, "chat_template_kwargs": {"a": 1}}).items()
        >= {
            "top_k": 5,
            "chat_template_kwargs": {"a": 1},
        }.items()
    )


def test_the_bytes_are_those_of_the_caller_in_their_order() -> None:
    fields = {"tools": [TOOL], "tool_choice": "auto", "response_format": FORMAT, "top_p": 0.5}
    body = ROWS["openai"].encoded("m", **fields).body
    for written in (TOOL, FORMAT):
        assert json.dumps(written, separators=(",", ":")).encode() in body
    assert list(json.loads(body)) == ["model", "messages", *fields]
    assert body == ROWS["openai"].encoded("m", **fields).body


@EACH
def test_a_schema_of_a_tool_arrives_as_it_is(row: ChatRow) -> None:
    tool = function(parameters=SCHEMA, description="d")
    assert row.sent("m", tools=[tool])["tools"] == [tool]


@EACH
@pytest.mark.parametrize(
    "none", [{}, {"parameters": None}, {"parameters": {}}, {"parameters": {"type": "object"}}]
)
def test_a_tool_without_arguments_has_one_form(row: ChatRow, none: dict[str, Any]) -> None:
    [tool] = row.sent("m", tools=[function(**none, strict=None)])["tools"]
    assert tool == function(parameters={"type": "object", "properties": {}})


@pytest.mark.parametrize(
    ("name", "model", "sent"),
    [
        ("openai", "m", "max_completion_tokens"),
        ("azure", "m", "max_tokens"),
        ("azure", "gpt-5-mini", "max_completion_tokens"),
        ("groq", "m", "max_completion_tokens"),
        ("ollama", "m", "max_tokens"),
        ("tgi", "m", "max_tokens"),
        ("mistral", "m", "max_tokens"),
        ("together", "m", "max_tokens"),
    ],
)
@pytest.mark.parametrize("asked", ["max_tokens", "max_completion_tokens"])
def test_the_limit_has_the_vendors_name_whichever_the_caller_used(
    name: str, model: str, sent: str, asked: str
) -> None:
    body = ROWS[name].sent(model, **{asked: 50})
    assert {key for key in body if key.startswith("max")} == {sent}
    assert body[sent] == 50


@pytest.mark.parametrize("name", ["together", "tgi"])
def test_stop_is_a_list_where_the_vendor_takes_no_text(name: str) -> None:
    assert ROWS[name].sent("m", stop="END")["stop"] == ["END"]


ALLOWED = {"tools": [{"type": "function", "function": {"name": "g"}}]}


@pytest.mark.parametrize("name", sorted(ROWS.keys() - {"azure", "openai", "sandbox", "launch"}))
def test_a_choice_among_some_tools_is_these_tools_where_the_vendor_knows_no_such(name: str) -> None:
    tools = [function("f"), function("g")]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", **ALLOWED}}
    body = ROWS[name].sent("m", tools=tools, tool_choice=choice)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["g"]
    assert body.get("tool_choice", "auto") == "auto"
    if name != "ollama":  # it has no other choice
        choice["allowed_tools"] = {"mode": "required", **ALLOWED}
        body = ROWS[name].sent("m", tools=tools, tool_choice=choice)
        assert [tool["function"]["name"] for tool in body["tools"]] == ["g"]
        assert body["tool_choice"] == "required"


@pytest.mark.parametrize("name", ["azure", "openai"])
def test_openais_own_choice_among_some_tools_stays(name: str) -> None:
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", **ALLOWED}}
    body = ROWS[name].sent("m", tools=[function("f"), function("g")], tool_choice=choice)
    assert body["tool_choice"] == choice
    assert len(body["tools"]) == 2


@pytest.mark.parametrize(
    ("name", "tier", "sent"),
    [
        ("groq", "default", None),
        ("groq", "auto", "auto"),
        ("groq", "on_demand", "on_demand"),
        ("mistral", "default", None),
        ("mistral", "auto", "auto"),
        ("openai", "default", "default"),
        ("vllm", "default", None),
    ],
)
def test_a_tier_that_changes_nothing_is_left_out_where_its_word_is_unknown(
    name: str, tier: str, sent: str | None
) -> None:
    assert ROWS[name].sent("m", service_tier=tier).get("service_tier") == sent


@pytest.mark.parametrize(
    "hint",
    [
        {"prompt_cache_key": "k"},
        {"prompt_cache_retention": "24h"},
        {"prompt_cache_options": {"mode": "implicit"}},
    ],
)
@pytest.mark.parametrize("name", ["groq", "llmengine", "vllm", "together", "ollama"])
def test_a_hint_for_a_cache_is_left_out_and_named(name: str, hint: dict[str, Any]) -> None:
    encoded = ROWS[name].encoded("m", **hint)
    assert encoded.dropped == tuple(hint)
    assert hint.keys().isdisjoint(json.loads(encoded.body))


def test_o3_mini_takes_stop_sequences() -> None:
    assert ROWS["openai"].sent("o3-mini-2025-01-31", stop=["END"])["stop"] == ["END"]


#: Vendor, request, and the parameter that it does not support.
CANNOT: list[tuple[str, dict[str, Any], str]] = [
    ("deepseek", {"response_format": FORMAT}, "response_format"),
    (
        "deepseek",
        {"parallel_tool_calls": False, "tools": [TOOL, function("g")]},
        "parallel_tool_calls",
    ),
    ("deepseek", {"tools": [{"type": "custom", "custom": {"name": "c"}}]}, "tools[0].type"),
    ("groq", {"metadata": {"a": "b"}}, "metadata"),
    ("groq", {"store": True}, "store"),
    ("groq", {"logprobs": True}, "logprobs"),
    ("groq", {"top_logprobs": 2}, "top_logprobs"),
    ("groq", {"logit_bias": {"1": 1}}, "logit_bias"),
    ("llmengine", {"response_format": FORMAT}, "response_format"),
    ("llmengine", {"verbosity": "low"}, "verbosity"),
    ("llmengine", {"safety_identifier": "s"}, "safety_identifier"),
    ("llmengine", {"reasoning_effort": "xhigh"}, "reasoning_effort"),
    ("groq", {"service_tier": "priority"}, "service_tier"),
    ("mistral", {"service_tier": "flex"}, "service_tier"),
    ("mistral", {"store": True}, "store"),
    ("mistral", {"verbosity": "low"}, "verbosity"),
    ("mistral", {"functions": [{"name": "f"}]}, "functions"),
    ("mistral", {"modalities": ["text", "audio"]}, "modalities"),
    ("ollama", {"tools": [function()], "tool_choice": "required"}, "tool_choice"),
    ("ollama", {"logit_bias": {"1": 1}}, "logit_bias"),
    ("ollama", {"parallel_tool_calls": False}, "parallel_tool_calls"),
    ("sglang", {"response_format": FORMAT, "tools": [TOOL]}, "response_format"),
    ("fireworks_ai", {"response_format": FORMAT, "tools": [TOOL]}, "response_format"),
    ("tgi", {"response_format": FORMAT, "tools": [TOOL]}, "response_format"),
    ("tgi", {"response_format": {"type": "json_object"}}, "response_format"),
    ("tgi", {"presence_penalty": 0.5}, "presence_penalty"),
    ("tgi", {"reasoning_effort": "low"}, "reasoning_effort"),
    ("together", {"parallel_tool_calls": False}, "parallel_tool_calls"),
    ("together", {"service_tier": "flex"}, "service_tier"),
    ("together", {"reasoning_effort": "max"}, "reasoning_effort"),
    ("vllm", {"web_search_options": {}}, "web_search_options"),
    ("vllm", {"service_tier": "flex"}, "service_tier"),
    ("vllm", {"prediction": {"type": "content", "content": "a"}}, "prediction"),
    ("xai", {"logit_bias": {"1": 1}}, "logit_bias"),
    ("xai", {"stop": "x", "model": "grok-4"}, "stop"),
    ("xai", {"stop": "x", "model": "grok-4-0709"}, "stop"),
    ("xai", {"presence_penalty": 1, "model": "grok-code-fast-1"}, "presence_penalty"),
]
IDS = [f"{name}-{param}" for name, _, param in CANNOT]


@pytest.mark.parametrize("name", ["deepseek", "ollama", "together"])
def test_one_call_at_a_time_may_be_asked_for_with_one_tool(name: str) -> None:
    """Clients that take a call for a structured answer ask for it, and name the tool."""
    body = ROWS[name].sent("m", tools=[function()], parallel_tool_calls=False)
    assert "parallel_tool_calls" not in body


def test_strict_is_left_out_and_told_where_it_is_unknown() -> None:
    encoded = ROWS["ollama"].encoded("m", tools=[TOOL])
    assert encoded.dropped == ("strict",)
    assert b"strict" not in encoded.body


@pytest.mark.parametrize(("name", "asked", "param"), CANNOT, ids=IDS)
def test_what_a_vendor_cannot_do_is_refused_by_name(
    name: str, asked: dict[str, Any], param: str
) -> None:
    error = refusal(ROWS[name], **{"model": "m", **asked})
    assert error.param == param
    assert param in error.message
    assert param != "functions" or "`tools`" in error.message
    assert name in error.message


@pytest.mark.parametrize(
    ("name", "asked", "param"),
    [case for case in CANNOT if case[2] != "tools[0].type"],
    ids=[it for it in IDS if "type" not in it],
)
def test_a_vendor_may_drop_it_and_the_caller_is_told(
    name: str, asked: dict[str, Any], param: str
) -> None:
    row = ROWS[name]
    vendor = dataclasses.replace(row.vendor, drop_unsupported=True)
    encoded = row.gateway.encode(vendor, row.asks(**{"model": "m", **asked}))
    assert encoded.dropped == (param.replace("[0]", ""),)
    assert param not in json.loads(encoded.body)
    assert "strict" not in param or b'"strict"' not in encoded.body


@pytest.mark.parametrize("name", ["vllm", "ollama", "tgi", "mistral", "deepseek", "llmengine"])
def test_what_changes_nothing_is_left_out(name: str) -> None:
    sent = ROWS[name].sent(
        "m",
        store=False,
        metadata={},
        modalities=["text"],
        logit_bias={},
        user="u",
        presence_penalty=0,
        tools=[function()],
    )
    assert not {"store", "modalities"} & sent.keys()


def test_a_response_format_of_plain_text_is_left_out_where_there_is_no_such_word() -> None:
    assert "response_format" not in ROWS["tgi"].sent("m", response_format={"type": "text"})


def test_a_schema_is_in_tgis_own_field() -> None:
    sent = ROWS["tgi"].sent("m", response_format=FORMAT)["response_format"]
    assert sent == {"type": "json_schema", "value": {"name": "n", "schema": SCHEMA}}


def test_a_format_beside_tools_is_one_where_the_vendor_can_do_both() -> None:
    sent = ROWS["vllm"].sent("m", response_format=FORMAT, tools=[TOOL])
    assert (sent["response_format"], sent["tools"]) == (FORMAT, [TOOL])
    assert "tool_choice" not in sent
    assert ROWS["sglang"].sent("m", response_format=FORMAT)["response_format"] == FORMAT


@EACH
@pytest.mark.parametrize(
    "choice", ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}]
)
def test_a_choice_of_tools_is_never_a_wider_one(row: ChatRow, choice: Any) -> None:
    asked: dict[str, Any] = {"tools": [function(parameters=SCHEMA)], "tool_choice": choice}
    if row.vendor.name == "llamacpp" and isinstance(choice, dict):
        assert row.sent("m", **asked)["tool_choice"] == "required"
    elif row.vendor.name != "ollama":
        assert row.sent("m", **asked)["tool_choice"] == choice
    elif choice == "auto":
        assert "tool_choice" not in row.sent("m", **asked)
    elif choice == "none":
        assert not {"tools", "tool_choice"} & row.sent("m", **asked).keys()
    else:
        assert refusal(row, **asked).param == "tool_choice"


def allowed(mode: str) -> dict[str, Any]:
    """Return a choice among the tools f and g."""
    names = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": names}}


@pytest.mark.parametrize(
    ("name", "choice", "word", "left"),
    [
        ("llamacpp", {"type": "function", "function": {"name": "g"}}, "required", ["g"]),
        ("llamacpp", allowed("required"), "required", ["f", "g"]),
        ("llamacpp", allowed("auto"), "auto", ["f", "g"]),
        ("ollama", allowed("auto"), None, ["f", "g"]),
    ],
)
def test_a_vendor_without_choices_among_tools_gets_only_the_tools_of_the_choice(
    name: str, choice: Any, word: str | None, left: list[str]
) -> None:
    tools = [function(name=tool, parameters=SCHEMA) for tool in ("f", "g", "h")]
    sent = ROWS[name].sent("m", tools=tools, tool_choice=choice)
    assert sent.get("tool_choice") == word
    assert [tool["function"]["name"] for tool in sent["tools"]] == left


WORDS = ("none", "minimal", "low", "medium", "high", "xhigh")


@pytest.mark.parametrize(
    ("name", "model", "sent"),
    [
        ("openai", "m", WORDS),
        ("vllm", "m", WORDS),
        ("ollama", "m", WORDS),
        ("deepseek", "m", ({"thinking": {"type": "disabled"}}, *WORDS[1:])),
        ("together", "m", ({"reasoning": {"enabled": False}}, None, *WORDS[2:5], None)),
        ("groq", "qwen/qwen3-32b", ("none", None, None, "default", None, None)),
        ("groq", "openai/gpt-oss-20b", (None, None, *WORDS[2:5], None)),
        ("mistral", "magistral-latest", ("none", None, None, None, "high", None)),
        ("mistral", "m", WORDS),
        ("llmengine", "m", (None, None, *WORDS[2:5], None)),
        ("tgi", "m", ({}, None, None, None, None, None)),
    ],
)
def test_an_effort_is_sent_in_the_models_word_or_refused(
    name: str, model: str, sent: tuple[Any, ...]
) -> None:
    row = ROWS[name]
    for word, theirs in zip(WORDS, sent, strict=True):
        if theirs is None:
            assert refusal(row, model, reasoning_effort=word).param == "reasoning_effort"
            continue
        fields = {"reasoning_effort": theirs} if isinstance(theirs, str) else theirs
        expected = PLAIN | {"model": model} | fields
        assert row.sent(model, reasoning_effort=word) == expected


OFF = {"thinking": {"type": "disabled"}}
F = {"type": "function", "function": {"name": "f"}}
FORCED: tuple[Any, ...] = (
    "required",
    F,
    {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [F]}},
)
NOT_FORCED: tuple[Any, ...] = (
    None,
    "auto",
    "none",
    {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [F]}},
)


@pytest.mark.parametrize(
    ("name", "model", "off"),
    [
        ("deepseek", "deepseek-flash", OFF),
        ("deepseek", "deepseek-v4-pro", OFF),
        ("together", "deepseek-ai/DeepSeek-V4-Pro", {"reasoning": {"enabled": False}}),
        ("together", "m", {}),
    ],
)
def test_a_model_that_cannot_be_forced_while_it_reasons_does_not_reason(
    name: str, model: str, off: Any
) -> None:
    def fields(**asked: Any) -> dict[str, Any]:
        body = ROWS[name].sent(model, tools=[function()], **asked)
        return {key: body[key] for key in ("thinking", "reasoning") if key in body}

    for choice in FORCED:
        assert fields(tool_choice=choice) == off
        assert fields(tool_choice=choice, reasoning_effort="none") == (
            off or {"reasoning": {"enabled": False}}
        )
    for choice in NOT_FORCED:
        assert fields(**({} if choice is None else {"tool_choice": choice})) == {}


def test_a_forced_call_beside_an_effort_is_refused_or_goes_without_reasoning() -> None:
    asked: dict[str, Any] = {"tools": [function()], "tool_choice": "required"}
    row = ROWS["deepseek"]
    error = refusal(row, "deepseek-flash", reasoning_effort="high", **asked)
    assert (error.param, "reasoning_effort" in error.message) == ("tool_choice", True)
    lax = ChatRow("deepseek", ENV, drop_unsupported=True)
    body = lax.sent("deepseek-flash", reasoning_effort="high", **asked)
    assert body["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in body
    own = row.sent("deepseek-flash", extra={"thinking": {"type": "enabled"}}, **asked)
    assert own["thinking"] == {"type": "enabled"}  # the caller decides, and the vendor


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("grok-4.20-reasoning", "stop"),
        ("grok-4-1-fast-reasoning", "presence_penalty"),
        ("grok-4-fast-non-reasoning", "reasoning_effort"),
    ],
)
def test_what_a_grok_does_not_take_is_refused(model: str, field: str) -> None:
    asked: Any = {"stop": "x", "presence_penalty": 1, "reasoning_effort": "low"}[field]
    assert refusal(ROWS["xai"], model, **{field: asked}).param == field


def test_what_only_text_completions_want_is_not_sent_to_callers_of_chat() -> None:
    assert ROWS["deepseek"].sent("deepseek-v4-pro") == PLAIN | {"model": "deepseek-v4-pro"}
    assert ROWS["groq"].sent("qwen/qwen3-32b") == PLAIN | {"model": "qwen/qwen3-32b"}


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({"logprobs": True}, {"logprobs": 1}),
        ({"logprobs": True, "top_logprobs": 3}, {"logprobs": 3}),
        ({"logprobs": True, "top_logprobs": 0}, {"logprobs": 1}),
        ({"logprobs": False}, {}),
    ],
)
def test_together_takes_log_probabilities_as_a_number(
    asked: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert ROWS["together"].sent("m", **asked) == PLAIN | sent


@pytest.mark.parametrize("name", ["tgi", "ollama"])
def test_chat_may_support_more_than_text_completions(name: str) -> None:
    asked = {"logprobs": True, "top_logprobs": 2}
    assert ROWS[name].sent("m", **asked) == PLAIN | asked


def test_several_samples_are_one_call() -> None:
    assert ROWS["openai"].sent("m", n=3)["n"] == 3


def test_a_bundle_gets_the_request_as_its_arguments() -> None:
    encoded = LAUNCH.encoded("end_1", [USER], tools=[TOOL], stream=True)
    assert encoded.url == "http://launch.example/v1/streaming-tasks?model_endpoint_id=end_1"
    assert json.loads(encoded.body) == {
        "args": {
            "model": "end_1",
            "messages": [USER],
            "tools": [TOOL],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    }


def test_a_field_of_every_request_may_be_another_name_for_the_model() -> None:
    row = ChatRow("launch", ENV, quirks={"sends": {"model": "files", "top_k": 1}})
    args = json.loads(row.encoded("end_1", extra={"top_k": 2}).body)["args"]
    assert args == {"model": "files", "messages": [USER], "top_k": 2}


def test_cache_marks_of_tools_are_left_out_and_named() -> None:
    marked = {**function(parameters=SCHEMA), "cache_control": {"type": "ephemeral"}}
    encoded = ROWS["vllm"].encoded("m", tools=[marked])
    assert json.loads(encoded.body)["tools"] == [function(parameters=SCHEMA)]
    assert encoded.dropped == ("cache_control",)
    assert ROWS["openrouter"].sent("m", tools=[marked])["tools"] == [marked]
    assert ROWS["openrouter"].encoded("m", tools=[marked]).dropped == ()
