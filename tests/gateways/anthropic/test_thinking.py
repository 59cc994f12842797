from typing import Any

import pytest

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
    types_of,
)
from tests.support.vendors.chat.script import sealed, signature

F = [tool("f")]
THOUGHT = {"type": "thinking", "thinking": "T", "signature": signature("T")}
REDACTED = {"type": "redacted_thinking", "data": sealed("R")}
OFF = {"type": "disabled"}


@pytest.mark.parametrize(
    ("effort", "budget"),
    [("minimal", 1024), ("low", 2048), ("medium", 8192), ("high", 16384), ("xhigh", 32768)],
)
def test_an_effort_is_a_budget_of_older_models(effort: str, budget: int) -> None:
    body = sent(BUDGETS, reasoning_effort=effort, max_completion_tokens=60_000)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert body["max_tokens"] == 60_000


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("claude-opus-4-6", ["low", "low", "medium", "high", "high", "max"]),
        (EFFORTS, ["low", "low", "medium", "high", "xhigh", "max"]),
        ("claude-sonnet-5", ["low", "low", "medium", "high", "xhigh", "max"]),
    ],
)
def test_an_effort_is_a_word_of_newer_models(model: str, words: list[str]) -> None:
    for effort, word in zip(
        ("minimal", "low", "medium", "high", "xhigh", "max"), words, strict=True
    ):
        body = sent(model, reasoning_effort=effort)
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["output_config"] == {"effort": word}


def test_none_switches_thinking_off_or_says_that_the_model_cannot() -> None:
    assert sent(BUDGETS, reasoning_effort="none")["thinking"] == OFF
    assert sent(EFFORTS, reasoning_effort="none")["thinking"] == OFF
    assert "thinking" not in sent(OLD, reasoning_effort="none")
    assert ROW.refused("claude-mythos-1", reasoning_effort="none") == "reasoning_effort"


def test_a_model_that_does_not_reason_refuses_every_other_effort() -> None:
    assert ROW.refused(OLD, reasoning_effort="low") == "reasoning_effort"
    assert LAX.encoded(OLD, reasoning_effort="low").dropped == ("reasoning_effort",)


def test_a_budget_stays_below_the_limit_and_the_limit_as_it_is() -> None:
    error = ROW.refused(BUDGETS, reasoning_effort="high", max_completion_tokens=1000)
    assert error == "reasoning_effort"
    body = sent(BUDGETS, reasoning_effort="high", max_completion_tokens=4000)
    assert body["max_tokens"] == 4000
    assert 1024 <= body["thinking"]["budget_tokens"] < 4000
    default = sent(BUDGETS, reasoning_effort="high")
    assert 1024 <= default["thinking"]["budget_tokens"] < default["max_tokens"]


def test_a_temperature_beside_a_budget_is_refused() -> None:
    fields: dict[str, Any] = {"reasoning_effort": "low", "max_completion_tokens": 8000}
    assert ROW.refused(BUDGETS, temperature=0.5, **fields) == "temperature"
    assert "temperature" not in sent(BUDGETS, temperature=1, **fields)


@pytest.mark.parametrize("model", [BUDGETS, EFFORTS])
def test_signed_reasoning_goes_back_first_as_it_came(model: str) -> None:
    ours = calling(
        call("a"), content="Well.", thinking_blocks=[THOUGHT, REDACTED], reasoning_content="T"
    )
    fields: dict[str, Any] = {"tools": F, "reasoning_effort": "low", "max_tokens": 8000}
    body = sent(model, [USER, ours, result("a")], **fields)
    found = body["messages"][1]["content"]
    assert found[:2] == [THOUGHT, REDACTED]
    assert types_of(found[2:]) == ["text", "tool_use"]
    assert body["thinking"]["type"] in ("enabled", "adaptive")


def test_fields_that_a_client_adds_to_a_block_are_left_out() -> None:
    ours = calling(call("a"), thinking_blocks=[{**THOUGHT, "index": 0}])
    body = sent(EFFORTS, [USER, ours, result("a")], tools=F, reasoning_effort="low")
    assert body["messages"][1]["content"][0] == THOUGHT


@pytest.mark.parametrize("model", [BUDGETS, EFFORTS])
def test_a_loop_whose_client_dropped_the_reasoning_goes_on_without_thinking(model: str) -> None:
    messages = [USER, calling(call("a"), reasoning_content="T"), result("a")]
    fields: dict[str, Any] = {"tools": F, "reasoning_effort": "low", "max_tokens": 8000}
    body = sent(model, messages, **fields)
    assert body["thinking"] == OFF
    assert types_of(body["messages"][1]["content"]) == ["tool_use"]
    assert ROW.encoded(model, messages, **fields).dropped == ("reasoning_effort",)


def test_a_new_question_after_such_a_loop_is_thought_about() -> None:
    messages = [USER, calling(call("a")), result("a"), {"role": "assistant", "content": "A"}, USER]
    body = sent(EFFORTS, messages, tools=F, reasoning_effort="low")
    assert body["thinking"]["type"] == "adaptive"


@pytest.mark.parametrize("fields", [{}, {"reasoning_effort": "none"}])
def test_signed_reasoning_is_left_out_and_told_while_the_model_does_not_think(
    fields: dict[str, Any],
) -> None:
    messages = [USER, calling(call("a"), thinking_blocks=[THOUGHT]), result("a")]
    body = sent(BUDGETS, messages, tools=F, **fields)
    assert types_of(body["messages"][1]["content"]) == ["tool_use"]
    assert ROW.encoded(BUDGETS, messages, tools=F, **fields).dropped == ("thinking_blocks",)


def test_a_model_that_always_thinks_gets_its_reasoning_back_unasked() -> None:
    messages = [USER, calling(call("a"), thinking_blocks=[THOUGHT]), result("a")]
    body = ROW.sent("claude-mythos-1", messages, tools=F)
    assert body["messages"][1]["content"][0] == THOUGHT
    assert "thinking" not in body
