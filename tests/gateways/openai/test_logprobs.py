"""Log probabilities in the forms of OpenAI and of compatible vendors."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.gateways.openai.logprobs import LogprobsOf
from app.vocabulary.completion import CompletionRequest

#: In the contract's format.
GOOD = {
    "tokens": ["one", " two"],
    "token_logprobs": [None, -0.5],
    "top_logprobs": [None, {" two": -0.5, " 2": -1}],
    "text_offset": [0, 3],
}


def read(choice: Mapping[str, Any], text: str = "one two", logprobs: int | None = 2) -> Any:
    request = CompletionRequest(model="sim/m", prompt="p", logprobs=logprobs)
    return LogprobsOf(request).read(0, choice, text)


def test_the_contracts_format_is_passed_on_as_it_is() -> None:
    assert read({"logprobs": GOOD}) is GOOD
    without = {**GOOD, "top_logprobs": None}
    assert read({"logprobs": without}) is without


def test_without_alternatives_on_request_there_are_none() -> None:
    assert read({"logprobs": GOOD}, logprobs=0) == {**GOOD, "top_logprobs": None}
    chat = {"content": [{"token": "a", "logprob": -1, "top_logprobs": [{"token": "b"}]}]}
    assert read({"logprobs": chat}, "a", logprobs=0)["top_logprobs"] is None
    assert read({"logprobs": chat}, "a")["top_logprobs"] == [{"b": None, "a": -1}]


@pytest.mark.parametrize(
    "change",
    [
        {"text_offset": None},
        {"text_offset": [0]},
        {"text_offset": [0, 3.0]},
        {"text_offset": [0, True]},
        {"token_logprobs": [None, "x"]},
        {"top_logprobs": [None]},
        {"top_logprobs": [None, {" two": "x"}]},
        {"top_logprobs": [None, 7]},
        {"tokens": ["one", " two", 7]},
    ],
    ids=str,
)
def test_lists_that_are_not_quite_the_contracts_are_brought_into_its_format(change: Any) -> None:
    found = read({"logprobs": GOOD | change})
    assert (found["tokens"], found["text_offset"]) == (["one", " two"], [0, 3])


def test_incomplete_characters_are_replaced_in_tokens_and_alternatives() -> None:
    sent = {**GOOD, "tokens": ["\ud800", "b"], "top_logprobs": [{"\ud800": -1}, None]}
    found = read({"logprobs": sent}, "\ufffdb")
    assert found["tokens"] == ["\ufffd", "b"]
    assert found["top_logprobs"] == [{"\ufffd": -1}, {}]


@pytest.mark.parametrize(
    "choice",
    [
        {"logprobs": {"tokens": ["a"], "token_logprobs": [-1]}},
        {"logprobs": {"content": [{"token": "a", "logprob": -1}]}},
        {"logprobs": None, "token": {"id": 5, "text": "a", "logprob": -1}},
    ],
)
def test_lists_objects_and_a_token_beside_the_choice_mean_the_same(choice: Any) -> None:
    expected = {
        "tokens": ["a"],
        "token_logprobs": [-1],
        "top_logprobs": None,
        "text_offset": [0],
    }
    assert read(choice, "a") == expected


@pytest.mark.parametrize(
    "choice",
    [
        {"logprobs": {"content": [{"token": "a", "logprob": -1}]}},
        {"token": {"text": "a", "logprob": -1}},
    ],
)
def test_what_the_caller_did_not_request_is_left_out(choice: Any) -> None:
    assert read(choice, "a", logprobs=None) is None


def test_each_choice_keeps_its_offset_from_delta_to_delta() -> None:
    reader = LogprobsOf(CompletionRequest(model="sim/m", prompt="p", logprobs=0))
    offsets = []
    for index, text in ((0, "one"), (1, "eins"), (0, "two"), (1, "zwei")):
        found = reader.read(index, {"token": {"text": text, "logprob": -1}}, text)
        assert found is not None
        offsets.append(found["text_offset"])
    assert offsets == [[0], [0], [3], [4]]


def test_bytes_count_only_where_a_token_is_not_the_text() -> None:
    half = [{"token": "\\xc3", "bytes": [0xC3]}, {"token": "\\xa9", "bytes": [0xA9]}]
    assert read({"logprobs": {"content": [*half, {"token": "b"}]}}, "\u00e9b")["text_offset"] == [
        0,
        0,
        1,
    ]
    odd = [{"token": "ab", "bytes": [97]}, {"token": "c"}]
    assert read({"logprobs": {"content": odd}}, "abc")["text_offset"] == [0, 2]


@pytest.mark.parametrize("logprobs", [None, [], "x", 7, {}, {"tokens": 7}, {"content": [7]}])
def test_log_probabilities_that_are_none_are_left_out(logprobs: Any) -> None:
    assert read({"logprobs": logprobs}) is None
