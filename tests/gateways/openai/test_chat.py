"""OpenAI's chat format: requests, and the errors that name their parameters."""

import dataclasses
import json
from typing import Any

import pytest

from app.transport.auth.schemes import authenticated
from app.vocabulary.errors import UnsupportedParameter
from tests.gateways.openai.chat_row import DEEPSEEK, OPENAI, XAI
from tests.gateways.rows import Row

GROQ = Row("groq", "GROQ_API_KEY")


MISTRAL = Row("mistral", "MISTRAL_API_KEY")


OPENROUTER = Row("openrouter", "OPENROUTER_API_KEY")


ROWS = [OPENAI, DEEPSEEK, GROQ, MISTRAL, XAI, OPENROUTER]


PLAIN = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.vendor.name)
def test_a_prompt_is_a_users_message_and_nothing_is_added(row: Row) -> None:
    assert row.sent() == PLAIN


def test_it_goes_to_the_chat_endpoint_with_our_key() -> None:
    encoded = OPENAI.gateway.encode(OPENAI.vendor, OPENAI.asks())
    assert encoded.url == "https://api.openai.com/v1/chat/completions"
    assert authenticated(OPENAI.vendor, encoded)["authorization"] == "Bearer sk-test"
    assert encoded.headers["accept"] == "application/json"


def test_a_stream_is_asked_for_with_its_usage() -> None:
    asked = {**PLAIN, "stream": True}
    assert GROQ.sent(stream=True) == {**asked, "stream_options": {"include_usage": True}}
    assert MISTRAL.sent(stream=True) == asked


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (None, False),
        ({}, False),
        ({"include_usage": True}, False),
        ({"include_obfuscation": False}, False),
        ({"include_obfuscation": True}, True),
    ],
)
def test_openai_is_asked_to_pad_no_chunk_unless_the_caller_wants_that(
    asked: dict[str, Any] | None, sent: bool
) -> None:
    options = OPENAI.sent(stream=True, stream_options=asked)["stream_options"]
    assert options == {"include_usage": True, "include_obfuscation": sent}
    assert "stream_options" not in OPENAI.sent()


@pytest.mark.parametrize("row", [DEEPSEEK, GROQ, XAI, OPENROUTER], ids=lambda row: row.vendor.name)
def test_no_other_vendor_is_sent_what_it_may_not_know(row: Row) -> None:
    assert row.sent(stream=True)["stream_options"] == {"include_usage": True}


def test_what_the_caller_set_is_sent() -> None:
    sent = OPENAI.sent(
        temperature=0,
        top_p=0.5,
        n=3,
        stop=["\n", "x"],
        seed=0,
        user="u",
        presence_penalty=-1,
        frequency_penalty=0.5,
        logit_bias={"1": -100},
        max_tokens=9,
        extra={"service_tier": "flex"},
    )
    assert sent == PLAIN | {
        "temperature": 0,
        "top_p": 0.5,
        "n": 3,
        "stop": ["\n", "x"],
        "seed": 0,
        "user": "u",
        "presence_penalty": -1,
        "frequency_penalty": 0.5,
        "logit_bias": {"1": -100},
        "max_completion_tokens": 9,
        "service_tier": "flex",
    }


@pytest.mark.parametrize(
    ("logprobs", "sent"),
    [(None, {}), (0, {"logprobs": True}), (5, {"logprobs": True, "top_logprobs": 5})],
)
def test_log_probabilities_are_asked_for_in_chats_way(
    logprobs: int | None, sent: dict[str, Any]
) -> None:
    assert OPENAI.sent(logprobs=logprobs) == PLAIN | sent


@pytest.mark.parametrize(
    ("row", "asked", "sent"),
    [
        (MISTRAL, {"seed": 7, "max_tokens": 9}, {"random_seed": 7, "max_tokens": 9}),
        (GROQ, {"seed": 7, "max_tokens": 9}, {"seed": 7, "max_completion_tokens": 9}),
        (XAI, {"seed": 7, "max_tokens": 9}, {"seed": 7, "max_tokens": 9}),
        (DEEPSEEK, {"model": "deepseek-v5"}, {"thinking": {"type": "disabled"}}),
        (
            DEEPSEEK,
            {"model": "deepseek-v5", "extra": {"thinking": {"type": "enabled"}}},
            {"thinking": {"type": "enabled"}},
        ),
        (DEEPSEEK, {"model": "deepseek-reasoner"}, {}),
        (GROQ, {"model": "qwen/qwen3-32b"}, {"reasoning_format": "hidden"}),
        (GROQ, {"model": "llama"}, {}),
    ],
)
def test_a_vendors_and_a_models_own_ways_are_heeded(
    row: Row, asked: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert row.sent(**asked) == PLAIN | {"model": asked.get("model", "m")} | sent


@pytest.mark.parametrize(
    ("row", "model", "asked"),
    [
        (OPENAI, "gpt-4o", {"best_of": 2}),
        (OPENAI, "gpt-4o", {"suffix": "x"}),
        (OPENAI, "o3", {"stop": "x"}),
        (OPENAI, "o3-2025-04-16", {"stop": "x"}),
        (OPENAI, "o3-pro", {"stop": "x"}),
        (OPENAI, "o4-mini-2025-04-16", {"stop": "x"}),
        (OPENAI, "o1", {"temperature": 0}),
        (OPENAI, "o3-mini", {"logprobs": 0}),
        (XAI, "grok-4.3", {"stop": "x"}),
        (XAI, "grok-4.20-0309-reasoning", {"presence_penalty": 1}),
        (XAI, "m", {"logit_bias": {"1": 1}}),
        (GROQ, "m", {"logprobs": 1}),
        (GROQ, "m", {"frequency_penalty": 1}),
        (MISTRAL, "m", {"logit_bias": {"1": 1}}),
        (DEEPSEEK, "deepseek-reasoner", {"seed": 1}),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(
    row: Row, model: str, asked: dict[str, Any]
) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        row.sent(model, **asked)
    assert [caught.value.param] == list(asked)


@pytest.mark.parametrize(
    ("row", "model", "asked"),
    [
        (OPENAI, "gpt-4o", {"stop": "x"}),
        (OPENAI, "o1", {"stop": "x"}),
        (OPENAI, "gpt-4o", {"temperature": 0}),
        (XAI, "grok-4.20-0309-non-reasoning", {"stop": "x"}),
    ],
)
def test_what_other_models_refuse_is_sent(row: Row, model: str, asked: dict[str, Any]) -> None:
    assert row.sent(model, **asked).items() >= asked.items()


@pytest.mark.parametrize(
    "asked", [{"best_of": 1}, {"best_of": 2, "n": 2}, {"suffix": ""}, {"temperature": 1}]
)
def test_what_changes_nothing_is_left_out(asked: dict[str, Any]) -> None:
    n = {"n": asked["n"]} if "n" in asked else {}
    assert OPENAI.sent("o3", **asked) == PLAIN | {"model": "o3"} | n


def test_a_vendor_may_drop_what_it_refuses() -> None:
    vendor = dataclasses.replace(OPENAI.vendor, drop_unsupported=True)
    encoded = OPENAI.gateway.encode(vendor, OPENAI.asks("o3", stop="x", suffix="y"))
    assert encoded.dropped == ("stop", "suffix")
    assert json.loads(encoded.body) == PLAIN | {"model": "o3"}


@pytest.mark.parametrize(
    ("row", "theirs", "ours"),
    [
        (OPENAI, "messages", "prompt"),
        (OPENAI, "messages[0].content", "prompt"),
        (OPENAI, "max_completion_tokens", "max_tokens"),
        (OPENAI, "top_logprobs", "logprobs"),
        (OPENAI, "stop", "stop"),
        (MISTRAL, "random_seed", "seed"),
        (OPENAI, None, None),
    ],
)
def test_a_refusal_names_the_callers_parameter(
    row: Row, theirs: str | None, ours: str | None
) -> None:
    error = row.error(400, {"error": {"message": "No.", "param": theirs, "code": "c"}})
    assert error.param == ours
    assert error.message == "No."
