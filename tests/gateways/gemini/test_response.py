"""Google's responses: text, ends, counts, log probabilities, and arbitrary JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.completion import Choice, Usage
from app.vocabulary.errors import GatewayError, VendorFailed
from tests.gateways.gemini.responses import only
from tests.gateways.gemini.wire import asked, candidate, decoded, response


def test_an_answer_has_the_vendors_id_model_text_and_count() -> None:
    counts = {"promptTokenCount": 4, "candidatesTokenCount": 2, "totalTokenCount": 6}
    answer = decoded(response(candidate("caf\u00e9", "\u2028!", index=0), usageMetadata=counts))
    assert (answer.id, answer.model) == ("r1", "m-001")
    assert answer.choices == (Choice(0, "caf\u00e9\u2028!", "stop"),)
    assert answer.usage == Usage(prompt_tokens=4, completion_tokens=2, total_tokens=6)


def test_what_the_model_thought_is_no_text() -> None:
    parts = [
        {"text": "hmm", "thought": True},
        {"text": "yes", "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "f"}},
        {"text": None},
    ]
    assert only(response(candidate(*parts))).text == "yes"


@pytest.mark.parametrize(
    "content", [{}, {"content": None}, {"content": {}}, {"content": {"role": "model"}}]
)
def test_a_model_that_spent_all_its_tokens_on_thinking_says_nothing(content: Any) -> None:
    assert only(response({**content, "finishReason": "MAX_TOKENS"})) == Choice(0, "", "length")


def test_samples_come_in_index_order() -> None:
    body = response(candidate("b", index=1), candidate("a"))
    assert [choice.index for choice in decoded(body).choices] == [0]
    numbered = response(candidate("b", index=1), candidate("a", index=0))
    choices = decoded(numbered, asked(n=2)).choices
    assert [(choice.index, choice.text) for choice in choices] == [(0, "a"), (1, "b")]


def test_samples_without_an_index_count_from_zero() -> None:
    choices = decoded(response(candidate("a"), candidate("b")), asked(n=2)).choices
    assert [(choice.index, choice.text) for choice in choices] == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("reason", ["SAFETY", "PROHIBITED_CONTENT", "JAILBREAK"])
def test_a_blocked_prompt_is_an_answer_that_was_filtered(reason: str) -> None:
    blocked = {
        "promptFeedback": {"blockReason": reason},
        "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4},
    }
    answer = decoded(blocked, asked(n=2))
    assert answer.choices == (Choice(0, "", "content_filter"), Choice(1, "", "content_filter"))
    assert answer.usage == Usage(prompt_tokens=4, total_tokens=4)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("LANGUAGE", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("ESCALATION", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
    ],
)
def test_a_finish_reason_is_narrowed(word: str, reason: str) -> None:
    assert only(response(candidate("a", finish=word))).finish_reason == reason


@pytest.mark.parametrize(
    "word",
    ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"],
)
def test_an_end_that_is_no_success_is_a_failure(word: Any) -> None:
    with pytest.raises(VendorFailed) as caught:
        decoded(response(candidate("a", finish=word)))
    assert caught.value.billable


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff",
        [],
        "a",
        {},
        response(),
        {"candidates": {}},
        {"candidates": [5]},
        {"promptFeedback": {"safetyRatings": []}},
        response({"content": "a", "finishReason": "STOP"}),
        response({"content": {"parts": "a"}, "finishReason": "STOP"}),
        response(candidate({"text": 5})),
    ],
)
def test_an_answer_that_is_none_is_a_failure_that_may_be_billed(body: Any) -> None:
    with pytest.raises(VendorFailed) as caught:
        decoded(body)
    assert caught.value.billable


@pytest.mark.parametrize("word", [None, "", "FINISH_REASON_UNSPECIFIED"])
def test_a_whole_answer_without_a_reason_has_stopped(word: Any) -> None:
    assert only(response(candidate("a", finish=word))).finish_reason == "stop"


@pytest.mark.parametrize("word", ["OTHER", "NEW", 5])
def test_an_answer_that_ends_with_a_word_that_nobody_knows_is_delivered(word: Any) -> None:
    choice = only(response(candidate("a", finish=word)))
    assert (choice.text, choice.finish_reason) == ("a", "length")
    assert choice.native_finish_reason == str(word)


@pytest.mark.parametrize("index", [-1, "0", 10**400, 3])
def test_the_only_candidate_is_the_answer_whatever_its_number(index: Any) -> None:
    assert only(response(candidate("a", index=index))).text == "a"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


#: Objects that have Google's keys, with anything behind them.
LIKE_GOOGLES = st.fixed_dictionaries(
    {},
    optional={
        "candidates": JSON
        | st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "content": JSON | st.fixed_dictionaries({"parts": JSON | st.lists(JSON)}),
                    "finishReason": JSON | st.just("STOP"),
                    "index": JSON,
                    "logprobsResult": JSON
                    | st.fixed_dictionaries({"chosenCandidates": JSON, "topCandidates": JSON}),
                },
            )
        ),
        "error": JSON | st.fixed_dictionaries({"details": JSON | st.lists(JSON), "code": JSON}),
        "promptFeedback": JSON,
        "usageMetadata": JSON | st.dictionaries(st.just("promptTokenCount"), JSON),
        "modelVersion": JSON,
        "responseId": JSON,
    },
)


@given(LIKE_GOOGLES | JSON)
def test_no_answer_raises_anything_but_a_gateway_error(body: Any) -> None:
    try:
        answer = decoded(json.dumps(body).encode())
    except GatewayError:
        return
    assert all(isinstance(choice.text, str) for choice in answer.choices)
