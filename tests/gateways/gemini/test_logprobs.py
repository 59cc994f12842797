"""Google's log probabilities, of chat and of text completions."""

from typing import Any

import pytest

from app.gateways.gemini.logprobs import UNLIKELY, decode_logprobs
from tests.gateways.gemini.wire import asked, candidate, decoded, response


def chosen(token: Any, logprob: Any) -> dict[str, Any]:
    return {"token": token, "tokenId": 7, "logProbability": logprob}


RESULT = {
    "chosenCandidates": [chosen("H\u00e9l", -0.1), chosen("lo", -0.2)],
    "topCandidates": [
        {"candidates": [chosen("H\u00e9l", -0.1), chosen("Hi", -2)]},
        {"candidates": [chosen("lo", -0.2)]},
    ],
}


def test_log_probabilities_take_the_form_of_chat() -> None:
    told = decode_logprobs(RESULT)
    assert told == {
        "content": [
            {
                "token": "H\u00e9l",
                "logprob": -0.1,
                "bytes": [72, 195, 169, 108],
                "top_logprobs": [
                    {"token": "H\u00e9l", "logprob": -0.1, "bytes": [72, 195, 169, 108]},
                    {"token": "Hi", "logprob": -2, "bytes": [72, 105]},
                ],
            },
            {
                "token": "lo",
                "logprob": -0.2,
                "bytes": [108, 111],
                "top_logprobs": [{"token": "lo", "logprob": -0.2, "bytes": [108, 111]}],
            },
        ],
        "refusal": None,
    }


def test_log_probabilities_of_texts_take_their_form() -> None:
    body = response(candidate("H\u00e9llo", logprobsResult=RESULT))
    (answer,) = decoded(body, asked(logprobs=2)).choices
    assert answer.logprobs == {
        "tokens": ["H\u00e9l", "lo"],
        "token_logprobs": [-0.1, -0.2],
        "top_logprobs": [{"H\u00e9l": -0.1, "Hi": -2}, {"lo": -0.2}],
        "text_offset": [0, 3],
    }


def test_log_probabilities_without_alternatives_have_none() -> None:
    told = decode_logprobs({"chosenCandidates": [chosen("a", -0.1)]})
    assert told is not None
    assert told["content"][0]["top_logprobs"] == []


@pytest.mark.parametrize("logprob", ["-Infinity", None, [], 10**400])
def test_a_log_probability_that_is_no_number_is_the_contracts_value_for_unlikely(
    logprob: Any,
) -> None:
    told = decode_logprobs({"chosenCandidates": [chosen("a", logprob)]})
    assert told is not None
    assert told["content"][0]["logprob"] == UNLIKELY


@pytest.mark.parametrize("result", [None, [], {}, {"chosenCandidates": []}, {"topCandidates": [5]}])
def test_no_log_probabilities_are_none(result: Any) -> None:
    assert decode_logprobs(result) is None
