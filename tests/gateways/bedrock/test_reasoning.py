import base64
from typing import Any

import pytest

from tests.gateways.anthropic.chat import USER, call, calling, result, tool
from tests.gateways.bedrock.chat import BUDGETS, EFFORTS, GPT, LAX, NOVA, OLD, ROW, sent
from tests.support.vendors.chat.script import sealed, signature

F = [tool("f")]
OWN = "additionalModelRequestFields"
OFF = {"type": "disabled"}
DATA = base64.b64encode(sealed("R").encode()).decode()
THOUGHTS = [
    {"type": "thinking", "thinking": "T", "signature": signature("T"), "index": 0},
    {"type": "redacted_thinking", "data": DATA, "index": 1},
]


@pytest.mark.parametrize(
    ("model", "own", "config"),
    [
        (BUDGETS, {"thinking": {"type": "enabled", "budget_tokens": 2048}}, None),
        (EFFORTS, {"thinking": {"type": "adaptive", "display": "summarized"}}, {"effort": "low"}),
        (NOVA, {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}, None),
        (GPT, {"reasoning_effort": "low"}, None),
    ],
)
def test_an_effort_has_its_word_in_each_family(model: str, own: Any, config: Any) -> None:
    body = sent(model, reasoning_effort="low")
    assert body[OWN] == own
    assert body.get("outputConfig") == config


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh"])
@pytest.mark.parametrize("model", [BUDGETS, EFFORTS, NOVA, GPT])
def test_every_effort_is_said_or_refused(model: str, effort: str) -> None:
    if (model, effort) == (GPT, "none"):
        assert ROW.refused(model, reasoning_effort=effort) == "reasoning_effort"
    else:
        assert sent(model, reasoning_effort=effort)[OWN]


def test_none_switches_off() -> None:
    assert sent(BUDGETS, reasoning_effort="none")[OWN] == {"thinking": OFF}
    assert sent(NOVA, reasoning_effort="none")[OWN] == {"reasoningConfig": OFF}
    assert OWN not in sent(OLD, reasoning_effort="none")


def test_a_model_that_does_not_reason_refuses_every_other_effort() -> None:
    assert ROW.refused(OLD, reasoning_effort="low") == "reasoning_effort"
    assert LAX.encoded(OLD, reasoning_effort="low").dropped == ("reasoning_effort",)


def test_a_budget_stays_below_the_limit() -> None:
    assert ROW.refused(BUDGETS, reasoning_effort="high", max_tokens=1000) == "reasoning_effort"
    body = sent(BUDGETS, reasoning_effort="high", max_tokens=4000)
    assert body["inferenceConfig"] == {"maxTokens": 4000}
    assert 1024 <= body[OWN]["thinking"]["budget_tokens"] < 4000
    assert ROW.refused(BUDGETS, reasoning_effort="low", temperature=0.5) == "temperature"


@pytest.mark.parametrize("model", [BUDGETS, EFFORTS])
def test_signed_reasoning_goes_back_first_as_it_came(model: str) -> None:
    ours = calling(call("a"), content="Well.", thinking_blocks=THOUGHTS)
    body = sent(model, [USER, ours, result("a")], tools=F, reasoning_effort="low")
    text = {"text": "T", "signature": signature("T")}
    assert body["messages"][1]["content"][:3] == [
        {"reasoningContent": {"reasoningText": text}},
        {"reasoningContent": {"redactedContent": DATA}},
        {"text": "Well."},
    ]
    assert body["additionalModelResponseFieldPaths"] == ["/usage/output_tokens_details"]


@pytest.mark.parametrize("model", [BUDGETS, EFFORTS])
def test_a_loop_whose_client_dropped_the_reasoning_goes_on_without_thinking(model: str) -> None:
    messages = [USER, calling(call("a")), result("a")]
    fields: dict[str, Any] = {"tools": F, "reasoning_effort": "low"}
    assert sent(model, messages, **fields)[OWN] == {"thinking": OFF}
    assert ROW.encoded(model, messages, **fields).dropped == ("reasoning_effort",)


def test_signed_reasoning_is_left_out_and_told_while_the_model_does_not_think() -> None:
    messages = [USER, calling(call("a"), thinking_blocks=THOUGHTS), result("a")]
    assert "reasoningContent" not in str(sent(BUDGETS, messages, tools=F))
    assert ROW.encoded(BUDGETS, messages, tools=F).dropped == ("thinking_blocks",)


def test_a_model_that_always_thinks_gets_its_reasoning_back_unasked() -> None:
    messages = [USER, calling(call("a"), thinking_blocks=THOUGHTS), result("a")]
    body = ROW.sent("anthropic.claude-mythos-1-v1", messages, tools=F)
    assert "reasoningContent" in body["messages"][1]["content"][0]
    assert OWN not in body
