"""Chats with Cohere: parameters, efforts, and what is refused by name."""

import dataclasses
from typing import Any

import pytest

from app.vendors.model_rules import EFFORTS
from tests.gateways.cohere.chat import COHERE, PLAIN, REASONING, refused, sent
from tests.gateways.gemini.chat import user


def test_every_parameter_has_coheres_name() -> None:
    body = sent(
        frequency_penalty=0.5,
        presence_penalty=0,
        max_completion_tokens=50,
        seed=7,
        stop=["a", "b"],
        temperature=0,
        top_p=0.5,
        stream=True,
    )
    assert body == {
        "model": PLAIN,
        "frequency_penalty": 0.5,
        "max_tokens": 50,
        "seed": 7,
        "temperature": 0,
        "p": 0.5,
        "stop_sequences": ["a", "b"],
        "stream": True,
        "messages": [user("hi")],
    }


def test_what_changes_from_turn_to_turn_comes_last() -> None:
    body = sent([{"role": "system", "content": "A"}, user("hi")], temperature=0.5, stream=True)
    assert list(body)[-1] == "messages"


#: What each effort becomes on a model that reasons.
TABLE: list[Any] = [
    {"type": "disabled"},
    {"type": "enabled", "token_budget": 1024},
    {"type": "enabled", "token_budget": 1024},
    {"type": "enabled", "token_budget": 4096},
    {"type": "enabled"},
    {"type": "enabled"},
    {"type": "enabled"},
]


@pytest.mark.parametrize(("effort", "thinking"), list(zip(EFFORTS, TABLE, strict=True)))
def test_an_effort_is_thinking_with_a_budget_or_without(effort: str, thinking: Any) -> None:
    assert sent(model=REASONING, reasoning_effort=effort)["thinking"] == thinking


def test_a_budget_leaves_room_for_the_answer() -> None:
    body = sent(model=REASONING, reasoning_effort="medium", max_completion_tokens=400)
    assert body["thinking"] == {"type": "enabled", "token_budget": 300}
    assert body["max_tokens"] == 400


def test_a_model_that_does_not_reason_takes_none_and_nothing_else() -> None:
    assert "thinking" not in sent(reasoning_effort="none")
    for effort in EFFORTS[1:]:
        assert refused(reasoning_effort=effort) == "reasoning_effort"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("audio", {"format": "wav", "voice": "alloy"}),
        ("functions", [{"name": "f"}]),
        ("logit_bias", {"5": 1}),
        ("logprobs", True),
        ("metadata", {"a": "b"}),
        ("modalities", ["text", "audio"]),
        ("prediction", {"type": "content", "content": "a"}),
        ("safety_identifier", "x"),
        ("service_tier", "flex"),
        ("store", True),
        ("top_logprobs", 2),
        ("verbosity", "low"),
        ("web_search_options", {}),
        ("a_field_of_next_year", 1),
    ],
)
def test_what_cohere_has_no_word_for_is_refused_by_name(name: str, value: Any) -> None:
    assert refused(**{name: value}) == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("logprobs", False),
        ("service_tier", "auto"),
        ("store", False),
        ("user", "u"),
        ("parallel_tool_calls", True),
        ("n", 1),
        ("stream_options", {"include_usage": True}),
    ],
)
def test_what_changes_nothing_is_left_out(name: str, value: Any) -> None:
    assert set(sent(**{name: value})) == {"model", "messages"}


def test_an_entry_may_leave_out_what_cohere_does_not_have() -> None:
    lax = dataclasses.replace(COHERE.vendor, drop_unsupported=True)
    request = COHERE.asks(PLAIN, reasoning_effort="high", verbosity="low", prompt_cache_key="k")
    assert COHERE.gateway.encode(lax, request).dropped == (
        "verbosity",
        "prompt_cache_key",
        "reasoning_effort",
    )


def test_unknown_fields_are_refused_by_name() -> None:
    assert refused(extra={"safety_mode": "OFF"}) == "safety_mode"


def test_cache_marks_are_left_out_and_told() -> None:
    text = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    encoded = COHERE.encoded(PLAIN, [user([text])])
    assert encoded.dropped == ("cache_control",)
    assert b"cache_control" not in encoded.body


def test_a_negative_seed_is_refused() -> None:
    assert refused(seed=-1) == "seed"
