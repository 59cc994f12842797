"""Chats with Google: parameters, what is refused by name, filters, ends and choices."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.completion import Choice, Usage
from app.vocabulary.errors import GatewayError
from tests.gateways.chat_rows import joined
from tests.gateways.gemini.chat import (
    GEMINI,
    NEW,
    OLD,
    VERTEX,
    answered,
    config,
    sent,
    streamed,
    user,
)
from tests.gateways.gemini.wire import candidate, event, response
from tests.gateways.rows import json_values

# Parameters.


def test_every_parameter_has_googles_name() -> None:
    assert config(
        OLD,
        frequency_penalty=0.5,
        logprobs=True,
        top_logprobs=3,
        max_completion_tokens=50,
        n=2,
        presence_penalty=-0.5,
        seed=7,
        stop=["a", "b"],
        temperature=0.0,
        top_p=0.9,
    ) == {
        "frequencyPenalty": 0.5,
        "responseLogprobs": True,
        "logprobs": 3,
        "maxOutputTokens": 50,
        "candidateCount": 2,
        "presencePenalty": -0.5,
        "seed": 7,
        "stopSequences": ["a", "b"],
        "temperature": 0.0,
        "topP": 0.9,
    }


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_either_name_of_the_limit_is_the_limit(name: str) -> None:
    limit: dict[str, Any] = {name: 50}
    assert config(**limit) == {"maxOutputTokens": 50}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"logprobs": True}, {"responseLogprobs": True}),
        ({"logprobs": True, "top_logprobs": 0}, {"responseLogprobs": True}),
        ({"logprobs": False}, {}),
        ({"stop": "\n"}, {"stopSequences": ["\n"]}),
    ],
)
def test_log_probabilities_and_stops_are_said_as_asked(asked: Any, told: Any) -> None:
    assert config(OLD, **asked) == told


@pytest.mark.parametrize("tier", ["flex", "priority"])
def test_a_tier_is_said_in_the_vendors_word(tier: str) -> None:
    assert sent(NEW, service_tier=tier)["serviceTier"] == tier


@pytest.mark.parametrize("tier", ["auto", "default"])
def test_the_usual_tier_is_not_said(tier: str) -> None:
    assert "serviceTier" not in sent(NEW, service_tier=tier)


def test_metadata_are_labels_on_vertex_ai_alone() -> None:
    assert sent(NEW, row=VERTEX, metadata={"team": "a"})["labels"] == {"team": "a"}
    assert GEMINI.refused(NEW, metadata={"team": "a"}) == "metadata"


@pytest.mark.parametrize(
    "labels",
    [{"Team": "a"}, {"a b": "c"}, {"team": "A"}, {"9": "a"}, {"": "a"}, {"_a": "b"},
     {"a" * 64: "b"}, {"a": "b" * 64}, {"a": "b.c"}],
)  # fmt: skip
def test_metadata_that_are_no_labels_are_refused(labels: dict[str, str]) -> None:
    assert VERTEX.refused(NEW, metadata=labels) == "metadata"


@pytest.mark.parametrize("labels", [{"\u00e4_9-": ""}, {"a" * 63: "9" * 63}, {"\u5b57": "\u5b57"}])
def test_labels_have_letters_of_every_script(labels: dict[str, str]) -> None:
    assert sent(NEW, row=VERTEX, metadata=labels)["labels"] == labels


@pytest.mark.parametrize("seed", [2**31, -(2**31) - 1, 2**63 - 1])
def test_a_seed_beyond_googles_range_is_refused(seed: int) -> None:
    assert GEMINI.refused(NEW, seed=seed) == "seed"


def test_a_conversation_does_not_begin_with_a_call() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "done"}
    assert GEMINI.refused(NEW, [called, result]) == "messages[0]"
    assert sent(NEW, [{"role": "assistant", "content": "Hello!"}, user("hi")])["contents"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("audio", {"format": "wav", "voice": "alloy"}),
        ("logit_bias", {"5": 1}),
        ("modalities", ["text", "audio"]),
        ("moderation", {"model": "m"}),
        ("prediction", {"type": "content", "content": "a"}),
        ("service_tier", "scale"),
        ("store", True),
        ("verbosity", "low"),
        ("a_field_of_next_year", 1),
    ],
)
def test_what_google_has_no_word_for_is_refused_by_name(name: str, value: Any) -> None:
    assert GEMINI.refused(NEW, **{name: value}) == name
    lax = dataclasses.replace(GEMINI.vendor, drop_unsupported=True)
    encoded = GEMINI.gateway.encode(lax, GEMINI.asks(NEW, **{name: value}))
    assert encoded.dropped == (name,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("logit_bias", {}),
        ("modalities", ["text"]),
        ("store", False),
        ("user", "u"),
        ("parallel_tool_calls", True),
        ("frequency_penalty", 0),
        ("stream_options", {"include_usage": True}),
    ],
)
def test_what_changes_nothing_is_left_out(name: str, value: Any) -> None:
    assert set(sent(NEW, **{name: value})) == {"contents"}


@pytest.mark.parametrize("name", ["frequency_penalty", "presence_penalty"])
def test_penalties_are_refused_for_models_that_refuse_them(name: str) -> None:
    assert GEMINI.refused(NEW, **{name: 0.5}) == name
    assert GEMINI.refused(f"models/{NEW}", **{name: 0.5}) == name


def test_unknown_fields_are_refused_by_name() -> None:
    assert GEMINI.refused(NEW, extra={"safetySettings": []}) == "safetySettings"


def test_a_limit_of_nothing_is_refused() -> None:
    assert GEMINI.refused(NEW, max_tokens=0) == "max_tokens"


def test_cache_marks_are_left_out_and_told() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    said = [user([{"type": "text", "text": "hi", **mark}])]
    encoded = GEMINI.encoded(NEW, said)
    assert encoded.dropped == ("cache_control",)
    assert b"cache_control" not in encoded.body
    assert GEMINI.encoded(NEW, "hi").dropped == ()


# Filters.

BLOCKED = {
    "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
    "usageMetadata": {"promptTokenCount": 12, "totalTokenCount": 12},
}


@pytest.mark.parametrize("n", [1, 2])
def test_a_blocked_prompt_is_a_filtered_answer_and_its_tokens_are_counted(n: int) -> None:
    whole = GEMINI.decoded(BLOCKED, n=n)
    assert whole.choices == tuple(Choice(at, "", "content_filter") for at in range(n))
    assert whole.usage == Usage(prompt_tokens=12, total_tokens=12)
    chunks = GEMINI.chunks([event(BLOCKED)], n=n)
    ends = [choice for chunk in chunks for choice in chunk.choices]
    assert ends == [Choice(at, "", "content_filter") for at in range(n)]
    assert [chunk.usage for chunk in chunks if chunk.usage] == [whole.usage]


@pytest.mark.parametrize("word", ["SAFETY", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"])
def test_a_filtered_answer_says_so(word: str) -> None:
    assert answered("a", finish=word).finish_reason == "content_filter"
    assert joined(GEMINI.chunks(streamed(["a"], finish=word)))[0].finish_reason == "content_filter"


# Ends, usage, sources.


def test_the_usage_of_the_last_event_counts() -> None:
    def counts(generated: int) -> dict[str, Any]:
        told = {"promptTokenCount": 5, "candidatesTokenCount": generated}
        return {"usageMetadata": {**told, "totalTokenCount": 5 + generated}}

    pieces = [
        event(response(candidate("a", finish=None), **counts(1))),
        event(response(candidate("b", finish=None), **counts(2))),
        event(response(candidate("c"), **counts(3))),
    ]
    _, usage = joined(GEMINI.chunks(pieces))
    assert usage == Usage(prompt_tokens=5, completion_tokens=3, total_tokens=8)


def test_the_tier_that_served_is_told() -> None:
    body = response(candidate("a"), usageMetadata={"trafficType": "ON_DEMAND_FLEX"})
    assert GEMINI.decoded(body).service_tier == "flex"


def test_sources_that_google_names_stay_with_the_choice() -> None:
    metadata = {"webSearchQueries": ["q"]}
    choice = answered("a", citationMetadata={"citations": []})
    assert choice.extra is None  # they are the candidate's, and not the response's
    body = response(candidate("a", groundingMetadata=metadata))
    (choice,) = GEMINI.decoded(body).choices
    assert choice.extra == {"grounding_metadata": metadata}


# Whatever Google may say.

WORDS = ["candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall"]
WORDS += ["name", "args", "id", "inlineData", "mimeType", "data", "finishReason", "STOP", "index"]


@given(json_values(*WORDS), st.sampled_from(["STOP", None]))
def test_no_candidate_raises_anything_but_a_gateway_error(content: Any, end: str | None) -> None:
    body = response({"content": content, "finishReason": end})
    for read in (lambda: GEMINI.decoded(body).choices, lambda: GEMINI.chunks([event(body)])):
        try:
            read()
        except GatewayError:
            continue


@given(st.lists(json_values(*WORDS), max_size=3))
def test_no_parts_raise_anything_but_a_gateway_error(parts: list[Any]) -> None:
    stream = streamed([{"functionCall": {"name": "f"}}], parts)
    try:
        chunks = GEMINI.chunks(stream)
    except GatewayError:
        return
    assert joined(chunks)[0].finish_reason == "tool_calls"
