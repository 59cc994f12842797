"""Google's responses: text, ends, counts, log probabilities, and arbitrary JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.gemini.response import decode_logprobs, decode_usage
from app.vocabulary.completion import Choice, HalfUsage, Usage
from app.vocabulary.errors import GatewayError, VendorFailed
from tests.gateways.gemini.wire import asked, candidate, decoded, response


def only(body: Any) -> Choice:
    (choice,) = decoded(body).choices
    return choice


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


def usage(*counts: int | None, **more: Any) -> dict[str, Any]:
    names = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
    told = {n: c for n, c in zip(names, counts, strict=True) if c is not None}
    return {**told, **more}


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        # prompt, candidates, thoughts, total -> prompt, completion, total, reasoning
        (usage(10, 5, None, 15), (10, 5, 15, 0)),
        (usage(10, 5, 3, 18), (10, 8, 18, 3)),  # thoughts beside the candidates' tokens
        (usage(10, 5, 3, 15), (10, 5, 15, 3)),  # thoughts among them
        (usage(10, None, 3, 13), (10, 3, 13, 3)),  # nothing but thoughts
        (usage(10, None, None, 10), (10, 0, 10, 0)),  # the first chunks of a stream
        (usage(10, 5, 3, None), (10, 8, 18, 3)),
        (usage(10, 5, 3, 4), (10, 8, 18, 3)),  # a total of something else
        (usage(10, 5, 3, 20), (10, 10, 20, 3)),  # the total is what is charged for
        (usage(10, 5, None, 17, toolUsePromptTokenCount=2), (12, 5, 17, 0)),
        (usage(10.0, 5.0, None, 15.0), (10, 5, 15, 0)),  # type: ignore[arg-type]
    ],
)
def test_usage_is_counted_in_our_meaning(
    told: dict[str, Any], counted: tuple[int, int, int, int]
) -> None:
    found = decode_usage(told)
    assert found is not None
    assert counted == (
        found.prompt_tokens,
        found.completion_tokens,
        found.total_tokens,
        found.reasoning_tokens,
    )


def test_cached_tokens_are_among_the_prompts() -> None:
    found = decode_usage(usage(100, 5, None, 105, cachedContentTokenCount=80))
    assert found == Usage(
        prompt_tokens=100, completion_tokens=5, total_tokens=105, cached_tokens=80
    )


@pytest.mark.parametrize(
    "told",
    [None, [], "5", {}, {"trafficType": "ON_DEMAND"}, usage(0, 0, 0, 0)],
)
def test_usage_without_a_count_is_left_to_be_estimated(told: Any) -> None:
    assert decode_usage(told) is None


@pytest.mark.parametrize("count", ["x", True, [5], {"a": 5}, 2**60, 10**400, -1])
def test_a_count_that_is_no_number_of_tokens_leaves_the_others(count: Any) -> None:
    half = HalfUsage(completion_tokens=5, total_tokens=5, lacks="prompt")
    assert decode_usage({"promptTokenCount": count, "candidatesTokenCount": 5}) == half


def chosen(token: Any, logprob: Any) -> dict[str, Any]:
    return {"token": token, "tokenId": 7, "logProbability": logprob}


def test_log_probabilities_take_the_contracts_form() -> None:
    result = {
        "chosenCandidates": [chosen("Hel", -0.1), chosen("lo", -0.2)],
        "topCandidates": [
            {"candidates": [chosen("Hel", -0.1), chosen("Hi", -2)]},
            {"candidates": [chosen("lo", -0.2)]},
        ],
    }
    answer = only(response(candidate("Hello", logprobsResult=result)))
    assert answer.logprobs == {
        "tokens": ["Hel", "lo"],
        "token_logprobs": [-0.1, -0.2],
        "top_logprobs": [{"Hel": -0.1, "Hi": -2}, {"lo": -0.2}],
        "text_offset": [0, 3],
    }


def test_log_probabilities_without_alternatives_have_none() -> None:
    told = decode_logprobs({"chosenCandidates": [chosen("a", -0.1)]}, start=4)
    assert told == {
        "tokens": ["a"],
        "token_logprobs": [-0.1],
        "top_logprobs": None,
        "text_offset": [4],
    }


@pytest.mark.parametrize("logprob", ["-Infinity", None, [], 10**400])
def test_a_log_probability_that_is_no_number_is_null(logprob: Any) -> None:
    told = decode_logprobs({"chosenCandidates": [chosen("a", logprob)]}, start=0)
    assert told is not None
    assert told["token_logprobs"] == [None]


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
