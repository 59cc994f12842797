"""Log probabilities are finite numbers, and stay with their own tokens."""

import json
from typing import Any

import pytest

from tests.contract.answers.contract_choice import BOTH, say
from tests.contract.answers.openai_wires import OpenAI
from tests.contract.answers.parts import Part
from tests.contract.answers.site import TEXT, Site
from tests.contract.answers.wires import WIRES

# Numbers, and whose they are.


def native_scores(logprobs: Any, top: Any = None) -> dict[str, Any]:
    """Return the log probabilities of two tokens in the completions format."""
    told = {"tokens": ["a", "b"], "token_logprobs": logprobs, "text_offset": [0, 1]}
    return {"logprobs": {**told, "top_logprobs": top}}


def chat_scores(*entries: Any) -> dict[str, Any]:
    """Return chat's log probabilities."""
    return {"logprobs": {"content": list(entries)}}


def entry(token: str, logprob: Any, *top: tuple[str, Any]) -> dict[str, Any]:
    """Return one token of chat's."""
    others = [{"token": t, "logprob": lp, "bytes": None} for t, lp in top]
    return {"token": token, "logprob": logprob, "bytes": None, "top_logprobs": others}


NOT_FINITE = [float("nan"), float("-inf"), float("inf"), "<<1e400>>", "low", True, {}]


@BOTH
@pytest.mark.parametrize("odd", NOT_FINITE)
@pytest.mark.parametrize("name", ["text", "chat"])
def test_a_log_probability_is_a_finite_number_or_null(
    site: Site, name: str, odd: Any, stream: bool
) -> None:
    if name == "text":
        more = native_scores([odd, -0.5], [{"a": odd, "c": -1.0}, {"b": -0.5}])
    else:
        more = chat_scores(entry("a", odd, ("a", odd), ("c", -1.0)), entry("b", -0.5, ("b", -0.5)))
    reply = say(name, stream, Part("ab", more=more))
    reply.body = [
        b.replace(b'"<<1e400>>"', b"1e400") if isinstance(b, bytes) else b for b in reply.body
    ]
    site.says(reply)
    told = site.ask(WIRES[name], stream=stream, logprobs=2)  # which refuses NaN where it reads
    assert told.is_whole(), told
    logprobs = next(c["logprobs"] for c in told.choices if c["logprobs"])
    assert logprobs["tokens"] == ["a", "b"]
    assert logprobs["token_logprobs"] == [None, -0.5]
    assert logprobs["top_logprobs"][0] == {"a": None, "c": -1.0}


@BOTH
@pytest.mark.parametrize("name", ["text", "chat", "gemini"])
def test_other_numbers_are_finite_too(site: Site, name: str, stream: bool) -> None:
    more = {"score": float("nan"), "ranks": [1, float("inf")]} if name != "gemini" else {}
    more |= {"avgLogprobs": float("-inf")}
    site.says(say(name, stream, Part(TEXT, more=more)))
    assert site.ask(WIRES[name], stream=stream).texts == {0: TEXT}


@BOTH
def test_a_sampled_token_has_its_own_score_whoever_is_named_like_it(
    site: Site, stream: bool
) -> None:
    """All halves of characters look equal, so the alternatives contain the name more than once."""
    same = "\ufffd"
    more = chat_scores(entry(same, -2.0, (same, -0.1), (same, -2.0), ("x", -3.0)))
    site.says(say("chat", stream, Part("x", more=more)))
    told = site.ask(WIRES["chat"], stream=stream, logprobs=3)
    logprobs = next(c["logprobs"] for c in told.choices if c["logprobs"])
    assert logprobs["token_logprobs"] == [-2.0]
    assert logprobs["top_logprobs"][0][same] == -2.0


@BOTH
@pytest.mark.parametrize(
    ("tokens", "scores", "right"),
    [
        (["a", "b"], [-0.5], [-0.5, None]),
        (["a", "b"], [-0.5, -1.0, -7.0], [-0.5, -1.0]),
        (["a", 5, "b"], [-0.5, -9.0, -1.0], None),
        (["a", "b"], None, [None, None]),
    ],
)
def test_scores_never_move_to_another_token(
    site: Site, tokens: Any, scores: Any, right: Any, stream: bool
) -> None:
    told = {"tokens": tokens, "token_logprobs": scores, "text_offset": [0, 1], "top_logprobs": None}
    site.says(say("text", stream, Part("ab", more={"logprobs": told})))
    answer = site.ask("text/m", stream=stream, logprobs=0)
    assert answer.is_whole(), answer
    logprobs = next((c["logprobs"] for c in answer.choices if c["logprobs"]), None)
    if logprobs is None:
        return  # nothing is better than what is another's
    pairs = dict(zip(logprobs["tokens"], logprobs["token_logprobs"], strict=True))
    if right is not None:
        assert pairs == dict(zip(["a", "b"], right, strict=True))
    assert pairs.get("b") != -9.0
    assert len(logprobs["text_offset"]) == len(logprobs["tokens"])


@pytest.mark.parametrize("name", ["text", "chat"])
def test_each_chunk_has_the_scores_of_its_own_tokens(site: Site, name: str) -> None:
    chat = isinstance(WIRES[name], OpenAI) and name == "chat"
    parts = []
    for at in range(5):
        more: dict[str, Any] = chat_scores(entry("w ", -0.5 * at))
        if not chat:
            told = {"tokens": ["w "], "token_logprobs": [-0.5 * at], "text_offset": [2 * at]}
            more = {"logprobs": {**told, "top_logprobs": None}}
        parts.append(Part("w ", more=more))
    site.says(say(name, True, *parts))
    answer = site.ask(WIRES[name], stream=True, logprobs=0)
    scores = [s for c in answer.choices if c["logprobs"] for s in c["logprobs"]["token_logprobs"]]
    offsets = [o for c in answer.choices if c["logprobs"] for o in c["logprobs"]["text_offset"]]
    assert scores == [0.0, -0.5, -1.0, -1.5, -2.0]
    assert offsets == [0, 2, 4, 6, 8]


@BOTH
def test_tokens_that_are_no_text_encode(site: Site, stream: bool) -> None:
    more = native_scores([-0.5, -1.0], [{"\ud83d": -0.5}, {"b": -1.0}])
    more["logprobs"]["tokens"] = ["\ud83d", "b"]
    site.says(say("text", stream, Part("\ud83db", more=more)))
    answer = site.ask("text/m", stream=stream, logprobs=1)
    assert answer.is_whole(), answer
    json.dumps(answer.chunks).encode()
    "".join(c["text"] for c in answer.choices).encode()
    for choice in answer.choices:
        for token in (choice["logprobs"] or {}).get("tokens", []):
            token.encode()
