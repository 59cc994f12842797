"""Callers get the server's response, whole or streamed, and its counts are recorded."""

from typing import Any

import pytest

from tests.contract.llamacpp.served import (
    CHARACTERS,
    LETTERS,
    PROMPT,
    SAMPLED,
    Served,
    check_event,
    counts,
    pieces_of,
)
from tests.support.services.llamacpp import MODEL, SLOT_TOKENS


def check_text(served: Served, **asked: Any) -> None:
    """Check that Tollgate's whole response, and the recorded usage, are the server's own."""
    theirs = served.direct(**asked)
    ours = served.answer(**asked)
    for name in ("text", "finish_reason", "index"):
        assert [c[name] for c in ours["choices"]] == [c[name] for c in theirs["choices"]]
    assert counts(ours["usage"]) == counts(theirs["usage"])
    assert (ours["model"], theirs["model"]) == (f"{asked.get('model', 'llamacpp')}/{MODEL}", MODEL)
    check_event(served.gateway.event(), theirs["usage"])


def check_stream(served: Served, **asked: Any) -> None:
    """Check that Tollgate's stream, and the recorded usage, are the server's own."""
    theirs = served.direct_events(**asked)
    ours = served.events(stream_options={"include_usage": True}, **asked)
    for name in ("text", "finish_reason"):
        told = [piece[name] for piece in pieces_of(ours) if piece[name]]
        assert told == [piece[name] for piece in pieces_of(theirs) if piece[name]]
    assert counts(ours[-1]["usage"]) == counts(theirs[-1]["usage"])
    check_event(served.gateway.event(), theirs[-1]["usage"])


CASES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "no token": {"max_tokens": 0},
    "one token": {"max_tokens": 1},
    "sampled": SAMPLED,
    "the likeliest": {"top_p": 0.5},
    "penalties": {"presence_penalty": 1.5, "frequency_penalty": 1},
    "a biased token": {"logit_bias": {"65": 100}},
    "an empty prompt": {"prompt": ""},
    "token ids": {"prompt": [256, 99, 100]},
    "its own end": LETTERS,
    "split characters": CHARACTERS,
    "a split character cut": {**CHARACTERS, "max_tokens": 3},
    "bytes that are no text": {"logit_bias": {"154": 100}},
    "a stop sequence": {**LETTERS, "stop": "cd"},
    "two stop sequences": {**LETTERS, "stop": ["x", "e"]},
    "a stop sequence begun": {**LETTERS, "stop": "cdx"},
    "a stop sequence at once": {**LETTERS, "stop": "a"},
    "a user": {"user": "somebody"},
    "neutral parameters": {"echo": False, "best_of": 1, "n": 1, "suffix": ""},
    "its own field": {"timings_per_token": True, "top_k": 1, "return_progress": True},
}


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
def test_an_answer_is_the_server_s_own(served: Served, asked: dict[str, Any]) -> None:
    check_text(served, **asked)


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
def test_a_stream_has_the_server_s_own_pieces(served: Served, asked: dict[str, Any]) -> None:
    check_stream(served, **asked)


def test_a_full_context_ends_the_answer(served: Served) -> None:
    asked: dict[str, Any] = {
        "prompt": "a" * (SLOT_TOKENS - 5),
        "max_tokens": 50,
        "ignore_eos": True,
    }
    check_text(served, **asked)
    assert served.gateway.event().total_tokens == SLOT_TOKENS


def test_a_prompt_that_was_read_before_is_cached(served: Served) -> None:
    asked: dict[str, Any] = {"prompt": "word " * 60, "cache_prompt": True}
    served.direct(**asked)
    answer = served.answer(**asked)
    cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached > answer["usage"]["prompt_tokens"] / 2
    assert served.gateway.event().cached_tokens == cached


@pytest.mark.parametrize("asked", [{}, {"echo": True}, CHARACTERS, {**LETTERS, "stop": "cd"}])
def test_chat_is_the_server_s_own(served: Served, asked: dict[str, Any]) -> None:
    theirs = served.direct_chat(**asked)
    ours = served.answer(model="llamachat", **asked)
    (choice,) = ours["choices"]
    before = PROMPT if asked.get("echo") else ""
    assert choice["text"] == before + theirs["choices"][0]["message"]["content"]
    assert choice["finish_reason"] == theirs["choices"][0]["finish_reason"]
    assert served.streamed(model="llamachat", **asked) == [choice["text"]]
    for event in served.gateway.events(2):
        check_event(event, theirs["usage"])
