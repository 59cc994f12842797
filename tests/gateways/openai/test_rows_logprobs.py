"""The log probabilities of OpenAI-compatible vendors, as bytes."""

from typing import Any

import pytest

from tests.gateways.openai.compatible_responses import SAID, answered
from tests.gateways.openai.compatible_rows import (
    LLAMACPP_ROW,
    TOGETHER_ROW,
    VLLM_ROW,
)
from tests.support.vendor import body_of, choice
from tests.support.vendors.self_hosted import LLAMACPP
from tests.support.vendors.together import TOGETHER


def test_llama_cpp_s_log_probabilities_are_brought_into_form() -> None:
    [body] = answered(LLAMACPP_ROW, LLAMACPP, SAID, logprobs=1)
    [only] = LLAMACPP_ROW.decoded(body, logprobs=1).choices
    assert only.logprobs == {
        "tokens": ["one", " two", " three"],
        "token_logprobs": [-0.5] * 3,
        "top_logprobs": [{"<0>": -0.25, word: -0.5} for word in ("one", " two", " three")],
        "text_offset": [0, 3, 7],
    }


def test_llama_cpp_s_log_probabilities_come_with_the_pieces_of_a_stream() -> None:
    steps = answered(LLAMACPP_ROW, LLAMACPP, SAID, stream=True, logprobs=1)
    told = [c.logprobs for chunk in LLAMACPP_ROW.chunks(steps, logprobs=1) for c in chunk.choices]
    assert [part and (part["tokens"], part["text_offset"]) for part in told] == [
        (["one"], [0]),
        ([" two"], [3]),
        ([" three"], [7]),
        None,
    ]


def test_together_s_log_probabilities_get_their_offsets() -> None:
    [body] = answered(TOGETHER_ROW, TOGETHER, SAID, logprobs=1)
    [only] = TOGETHER_ROW.decoded(body, logprobs=1).choices
    assert only.logprobs == {
        "tokens": ["one", " two", " three"],
        "token_logprobs": [-0.5] * 3,
        "top_logprobs": None,  # one object for all tokens is none of theirs
        "text_offset": [0, 3, 7],
    }


def test_together_s_tokens_beside_the_choices_are_their_log_probabilities() -> None:
    steps = answered(TOGETHER_ROW, TOGETHER, SAID, stream=True, logprobs=0)
    found = [c.logprobs for chunk in TOGETHER_ROW.chunks(steps, logprobs=0) for c in chunk.choices]
    assert [told and (told["tokens"], told["text_offset"]) for told in found[:3]] == [
        (["one"], [0]),
        ([" two"], [3]),
        ([" three"], [7]),
    ]
    unasked = [c.logprobs for chunk in TOGETHER_ROW.chunks(steps) for c in chunk.choices]
    assert set(unasked) == {None}


@pytest.mark.parametrize(
    ("logprobs", "tokens", "top"),
    [
        ({"tokens": ["a"], "token_logprobs": [-1]}, ["a"], None),
        ({"tokens": ["a"], "token_logprobs": [None], "top_logprobs": {"a": 0}}, ["a"], [{"a": 0}]),
        ({"tokens": ["a", 5], "token_logprobs": []}, ["a"], None),
        ({"tokens": ["a"], "token_logprobs": ["x"], "top_logprobs": [7]}, ["a"], None),
        ({"content": [{"token": "a", "logprob": "x"}, 7]}, ["a"], None),
    ],
)
def test_odd_log_probabilities_say_what_they_can(logprobs: Any, tokens: Any, top: Any) -> None:
    [only] = VLLM_ROW.decoded(body_of(choice("a", "stop", logprobs=logprobs)), logprobs=1).choices
    assert only.logprobs is not None
    assert (only.logprobs["tokens"], only.logprobs["top_logprobs"]) == (tokens, top)
    assert only.logprobs["text_offset"] == [0]


@pytest.mark.parametrize("logprobs", [None, {}, [], 7, {"tokens": 7}, {"tokens": ["a"]}, "x"])
def test_log_probabilities_that_are_none_are_null(logprobs: Any) -> None:
    [only] = VLLM_ROW.decoded(body_of(choice("a", "stop", logprobs=logprobs)), logprobs=1).choices
    assert only.logprobs is None
