"""How Claude's models think and are switched off, at Anthropic and on Bedrock alike."""

from typing import Any

import pytest

from tests.gateways.anthropic.chat import ROW as ANTHROPIC
from tests.gateways.anthropic.chat import sent as sent_to_anthropic
from tests.gateways.bedrock.chat import ROW as BEDROCK
from tests.gateways.bedrock.chat import sent as sent_to_bedrock
from tests.gateways.chat_rows import ChatRow
from tests.support.vendors.chat.script import signature

USER = {"role": "user", "content": "hi"}
TOOLS = [{"type": "function", "function": {"name": "f"}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BLOCK = {"type": "thinking", "thinking": "T", "signature": signature("T")}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "done"}

ROWS = {"anthropic": ANTHROPIC, "bedrock": BEDROCK}
BOTH = pytest.mark.parametrize("name", ROWS)


def thinking(name: str, model: str, messages: Any = "hi", **fields: Any) -> tuple[Any, Any, bool]:
    """Return the thinking and the effort that are sent, and whether reasoning goes back."""
    if name == "anthropic":
        body = sent_to_anthropic(model, messages, **fields)
        beside, effort = body, body.get("output_config", {}).get("effort")
    else:
        body = sent_to_bedrock(f"us.anthropic.{model}-v1:0", messages, **fields)
        beside = body.get("additionalModelRequestFields", {})
        effort = body.get("outputConfig", {}).get("effort")
    return beside.get("thinking"), effort, signature("T") in str(body)


def loop(*blocks: Any) -> list[Any]:
    said = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return [USER, {**said, **({"thinking_blocks": list(blocks)} if blocks else {})}, RESULT]


def refused(name: str, model: str, **fields: Any) -> str | None:
    row: ChatRow = ROWS[name]
    return row.refused(model if name == "anthropic" else f"anthropic.{model}-v1:0", **fields)


@BOTH
@pytest.mark.parametrize("model", ["claude-opus-5", "claude-sonnet-5", "claude-haiku-5-5"])
def test_a_model_that_thinks_unasked_gets_its_reasoning_back(name: str, model: str) -> None:
    assert thinking(name, model, loop(BLOCK), tools=TOOLS) == (None, None, True)
    assert thinking(name, model, loop(), tools=TOOLS) == (None, None, False)


@BOTH
def test_a_model_that_does_not_think_unasked_gets_none(name: str) -> None:
    assert thinking(name, "claude-opus-4-8", loop(BLOCK), tools=TOOLS) == (None, None, False)


@BOTH
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-1", "claude-mythos-5"])
def test_a_model_that_always_thinks_has_no_none_and_is_never_switched_off(
    name: str, model: str
) -> None:
    assert refused(name, model, reasoning_effort="none") == "reasoning_effort"
    shown = {"type": "adaptive", "display": "summarized"}
    for messages, goes_back in ((loop(BLOCK), True), (loop(), False)):
        found = thinking(name, model, messages, tools=TOOLS, reasoning_effort="low")
        assert found == (shown, "low", goes_back)


@BOTH
@pytest.mark.parametrize(
    ("model", "kind", "goes_back"),
    [
        ("claude-opus-5", "disabled", False),
        ("claude-haiku-5-5", "disabled", False),
        ("claude-sonnet-5-5", "between_tools", True),
    ],
)
def test_the_others_are_switched_off_in_their_own_word(
    name: str, model: str, kind: str, goes_back: bool
) -> None:
    found = thinking(name, model, loop(BLOCK), tools=TOOLS, reasoning_effort="none")
    assert found == ({"type": kind}, None, goes_back)
    for effort, word in (("low", "low"), ("high", "high"), ("xhigh", "high"), ("max", "high")):
        lost = thinking(name, model, loop(), tools=TOOLS, reasoning_effort=effort)
        assert lost == ({"type": kind}, word, False)


@BOTH
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1"])
def test_newer_models_cannot_be_forced_to_call_a_tool(name: str, model: str) -> None:
    assert refused(name, model, tools=TOOLS, tool_choice="required") == "tool_choice"


@BOTH
def test_a_temperature_or_a_top_p_of_1_is_not_sent_beside_the_other(name: str) -> None:
    for model in ("claude-sonnet-4-5", "claude-opus-4-6", "claude-3-5-haiku"):
        assert sampling(name, model, temperature=1, top_p=0.5) == {"top_p": 0.5}
        assert sampling(name, model, temperature=0, top_p=1) == {"temperature": 0}


@BOTH
@pytest.mark.parametrize(
    "model", ["claude-opus-4-1", "claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-5"]
)
def test_models_that_take_one_of_temperature_and_top_p_get_one(name: str, model: str) -> None:
    assert refused(name, model, temperature=0, top_p=0.5) == "top_p"


@BOTH
def test_older_models_take_both(name: str) -> None:
    both = {"temperature": 0, "top_p": 0.5}
    for model in ("claude-sonnet-4-20250514", "claude-3-7-sonnet"):
        assert sampling(name, model, **both) == both


@BOTH
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-sonnet-4-6"])
def test_sampling_is_fixed_while_a_model_thinks(name: str, model: str) -> None:
    thinks = {"reasoning_effort": "high", "max_tokens": 8000}
    assert refused(name, model, temperature=0.5, **thinks) == "temperature"
    assert refused(name, model, top_p=0.5, **thinks) == "top_p"
    assert sampling(name, model, top_p=0.95, temperature=1, **thinks) == {"top_p": 0.95}


@BOTH
def test_a_message_is_not_continued_while_a_model_thinks(name: str) -> None:
    said = {"role": "assistant", "content": "The"}
    thinks = {"reasoning_effort": "high", "max_tokens": 8000}
    model = "claude-sonnet-4-5"
    assert refused(name, model, messages=[USER, said], **thinks) == "reasoning_effort"
    found = thinking(name, model, [USER, {**said, "thinking_blocks": [BLOCK]}], **thinks)
    assert found[2]


@BOTH
@pytest.mark.parametrize("argument", ["a b", "\u00fc", "x" * 65, "", "filter[id]", "$ref"])
def test_names_of_arguments_that_the_vendor_rejects_are_refused(name: str, argument: str) -> None:
    def tools(argument: str) -> list[Any]:
        parameters = {"type": "object", "properties": {"a": {}, argument: {"type": "string"}}}
        return [*TOOLS, {"type": "function", "function": {"name": "g", "parameters": parameters}}]

    path = "tools[1].function.parameters.properties"
    assert refused(name, "claude-opus-5", tools=tools(argument)) == path
    assert thinking(name, "claude-opus-5", tools=tools("a_b.c-9" * 8))


def sampling(name: str, model: str, **fields: Any) -> dict[str, Any]:
    """Return the temperature and top_p that are sent, by the caller's names."""
    if name == "anthropic":
        body = sent_to_anthropic(model, **fields)
    else:
        body = sent_to_bedrock(f"anthropic.{model}-v1:0", **fields).get("inferenceConfig", {})
    names = {"temperature": "temperature", "top_p": "top_p", "topP": "top_p"}
    return {names[key]: value for key, value in body.items() if key in names}
