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
