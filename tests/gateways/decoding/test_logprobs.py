"""Log probabilities in the contract's format: offsets in characters, also of split ones."""

from typing import Any

import pytest

from app.gateways.decoding.logprobs import (
    LogprobsReader,
    TokenLogprob,
    chat_tokens,
    text_logprobs,
)

E_ACUTE = "\N{LATIN SMALL LETTER E WITH ACUTE}".encode()


def test_tokens_become_parallel_lists_with_offsets() -> None:
    tokens = [TokenLogprob("Hel", -0.5, {"Hel": -0.5, "He": None}), TokenLogprob("lo", None)]
    assert text_logprobs(tokens, 2) == {
        "tokens": ["Hel", "lo"],
        "token_logprobs": [-0.5, None],
        "top_logprobs": [{"Hel": -0.5, "He": None}, {}],
        "text_offset": [2, 5],
    }


def test_without_alternatives_top_logprobs_is_null() -> None:
    assert text_logprobs([TokenLogprob("a", -1.0)])["top_logprobs"] is None
    assert text_logprobs([]) == {
        "tokens": [],
        "token_logprobs": [],
        "top_logprobs": None,
        "text_offset": [],
    }


def test_a_character_of_two_tokens_counts_once() -> None:
    split = [
        TokenLogprob("a", -1.0, raw=b"a"),
        TokenLogprob("\\xc3", -1.0, raw=E_ACUTE[:1]),
        TokenLogprob("\\xa9", -1.0, raw=E_ACUTE[1:]),
        TokenLogprob("b", -1.0, raw=b"b"),
    ]
    assert text_logprobs(split)["text_offset"] == [0, 1, 1, 2]
    split[2] = TokenLogprob("\\xa9b", -1.0, raw=E_ACUTE[1:] + b"b")  # and another character
    assert text_logprobs(split)["text_offset"] == [0, 1, 1, 3]
    assert text_logprobs(split[2:])["text_offset"] == [0, 1]


def test_a_response_that_begins_inside_a_character_has_no_negative_offset() -> None:
    assert text_logprobs([TokenLogprob("x", None, raw=E_ACUTE[1:])])["text_offset"] == [0]


def test_each_choice_has_its_own_offset_from_delta_to_delta() -> None:
    reader = LogprobsReader()
    assert reader.read(0, [TokenLogprob("ab", -1.0)])["text_offset"] == [0]
    assert reader.read(1, [TokenLogprob("c", -1.0)])["text_offset"] == [0]
    assert reader.read(0, iter([TokenLogprob("d", -1.0)]))["text_offset"] == [2]
    assert reader.read(1, [TokenLogprob("e", -1.0)])["text_offset"] == [1]


def test_the_alternatives_of_chat_include_the_sampled_token() -> None:
    entries = [
        {
            "token": "a",
            "logprob": -0.1,
            "bytes": [97],
            "top_logprobs": [{"token": "b", "logprob": -2.0}],
        }
    ]
    (token,) = chat_tokens(entries)
    assert token == TokenLogprob("a", -0.1, {"b": -2.0, "a": -0.1}, b"a")


@pytest.mark.parametrize(
    ("entry", "token"),
    [
        ({"token": "a", "logprob": "x"}, TokenLogprob("a", None)),
        ({"token": 5, "logprob": -1}, TokenLogprob("", -1)),
        ({"token": "a", "logprob": -1, "bytes": [256]}, TokenLogprob("a", -1)),
        ({"token": "a", "logprob": -1, "bytes": ["a"]}, TokenLogprob("a", -1)),
        ({"token": "a", "logprob": -1, "top_logprobs": 5}, TokenLogprob("a", -1)),
        ({"token": "\ud800", "logprob": -1}, TokenLogprob("\ufffd", -1)),
    ],
)
def test_invalid_fields_of_a_token_are_left_out(entry: dict[str, Any], token: TokenLogprob) -> None:
    assert list(chat_tokens([None, entry, "x"])) == [token]
