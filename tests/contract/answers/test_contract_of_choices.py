"""Callers get what the contract allows: valid text, finite numbers, and extra fields."""

import json
from typing import Any

import pytest

from tests.contract.answers.openai_wires import OpenAI
from tests.contract.answers.parts import SSE, Counts, Part
from tests.contract.answers.site import PROMPT, TEXT, Site, by_index
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Reply

COUNTS = Counts(20, 7)
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def say(name: str, stream: bool, *parts: Part) -> Reply:
    """Return a response whose choice has these deltas; a whole one has only the first."""
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    if not stream:
        first = parts[0]
        return wire.whole(Part(first.text, wire.stop, first.index, first.more), usage=usage)
    end = wire.event(Part("", wire.stop), usage=usage)
    return wire.stream(wire.opening(usage), *(wire.event(part) for part in parts), end, wire.mark)


# Scores of an echoed prompt, which a chat does not give.


@BOTH
@pytest.mark.parametrize("logprobs", [0, 2])
@pytest.mark.parametrize("name", ["chat", "azure-chat", "gemini", "vertex", "mistral"])
def test_scores_of_an_echoed_prompt_are_refused_by_name_on_a_chat(
    site: Site, name: str, logprobs: int, stream: bool
) -> None:
    told = site.ask(WIRES[name], stream=stream, echo=True, logprobs=logprobs)
    assert told.status == 400
    assert told.error is not None
    assert (told.error["param"], told.error["code"]) == ("logprobs", "unsupported_parameter")
    assert site.vendor.asked == []


@BOTH
def test_an_entry_that_drops_what_it_cannot_do_drops_the_scores_and_says_so(
    site: Site, stream: bool
) -> None:
    site.says(say("chat", stream, Part(TEXT)))
    told = site.ask("lax/m", stream=stream, echo=True, logprobs=2)
    assert told.is_whole(), told
    assert told.headers["x-tollgate-dropped"] == "logprobs"
    assert told.texts == {0: PROMPT + TEXT}
    assert all(choice["logprobs"] is None for choice in told.choices)
    (asked,) = site.vendor.asked
    assert not asked.body.get("logprobs")
    assert "top_logprobs" not in asked.body


@BOTH
@pytest.mark.parametrize(
    "fields", [{"echo": True}, {"logprobs": 2}, {"echo": False, "logprobs": 2}]
)
def test_either_of_them_is_served(site: Site, fields: dict[str, Any], stream: bool) -> None:
    site.says(say("chat", stream, Part(TEXT)))
    assert site.ask(WIRES["chat"], stream=stream, **fields).is_whole()


@BOTH
def test_both_are_passed_on_where_the_prompt_is_scored(site: Site, stream: bool) -> None:
    site.says(say("text", stream, Part(PROMPT + TEXT)))
    assert site.ask(WIRES["text"], stream=stream, echo=True, logprobs=2).is_whole()
    (asked,) = site.vendor.asked
    assert (asked.body["echo"], asked.body["logprobs"]) == (True, 2)


@BOTH
def test_a_server_that_takes_none_for_off_is_asked_for_one_which_is_cut(
    site: Site, stream: bool
) -> None:
    scores = {"tokens": ["a"], "token_logprobs": [-0.5], "text_offset": [0]}
    more = {"logprobs": {**scores, "top_logprobs": [{"a": -0.5, "b": -1.0}]}}
    site.says(say("text", stream, Part("a", more=more)))
    told = site.ask("shy/m", stream=stream, logprobs=0)
    assert told.is_whole(), told
    assert site.vendor.asked[0].body["logprobs"] == 1
    logprobs = next(c["logprobs"] for c in told.choices if c["logprobs"])
    assert logprobs["token_logprobs"] == [-0.5]
    assert logprobs["top_logprobs"] in (None, [{"a": -0.5}])


# What a choice carries beyond the contract.

EXTRA: dict[str, Any] = {
    "stop_reason": 128009,
    "token_ids": [1, 2, 3],
    "prompt_logprobs": [None, {"7": {"logprob": -0.1, "rank": 1, "decoded_token": "x"}}],
    "prompt_token_ids": [9, 8],
    "content_filter_results": {"hate": {"filtered": False}},
    "weight_version": "v1",
}


@BOTH
@pytest.mark.parametrize(
    "name", ["text", "chat", "azure-text", "azure-chat", "llmengine", "launch", "mistral"]
)
def test_what_a_choice_carries_beyond_the_contract_comes_back(
    site: Site, name: str, stream: bool
) -> None:
    site.says(say(name, stream, Part(TEXT, more=EXTRA)))
    asked = {"return_token_ids": True, "prompt_logprobs": 1}
    told = site.ask(WIRES[name], stream=stream, **asked)
    assert told.is_whole(), told
    found: dict[str, Any] = {}
    for choice in told.choices:
        found |= choice
    assert {key: found[key] for key in EXTRA} == EXTRA
    contract = {"index", "text", "logprobs", "finish_reason"}
    assert found.keys() - EXTRA.keys() == contract  # neither a message nor a delta
    body = site.vendor.asked[0].body
    body = body.get("args", body)
    assert {key: body[key] for key in asked} == asked


@pytest.mark.parametrize("name", ["text", "chat", "llmengine", "launch"])
def test_each_chunk_has_its_own(site: Site, name: str) -> None:
    parts = [Part("word ", more={"token_ids": [at]}) for at in range(6)]
    site.says(say(name, True, *parts))
    told = site.ask(WIRES[name], stream=True)
    ids = [token for choice in told.choices for token in choice.get("token_ids", [])]
    assert ids == [0, 1, 2, 3, 4, 5]
    assert told.texts == {0: "word " * 6}


@pytest.mark.parametrize("name", ["text", "llmengine"])
def test_token_ids_without_a_text_come_back_too(site: Site, name: str) -> None:
    parts = [Part("", more={"token_ids": [1]}), Part("a", more={"token_ids": [2]})]
    site.says(say(name, True, *parts))
    told = site.ask(WIRES[name], stream=True)
    ids = [token for choice in told.choices for token in choice.get("token_ids", [])]
    assert ids == [1, 2]


def test_a_vendors_extras_cannot_stand_in_for_the_contracts_fields(site: Site) -> None:
    more = {"native_finish_reason": "theirs", "usage": {"prompt_tokens": 1}}
    site.says(say("text", False, Part(TEXT, more=more)))
    told = site.ask("text/m")
    (choice,) = told.choices
    assert (choice["text"], choice["finish_reason"]) == (TEXT, "stop")
    assert choice["logprobs"] is None


# Text that encodes, however it was cut.

WIRES_OF_TEXT = (
    "text",
    "chat",
    "azure-text",
    "llmengine",
    "launch",
    "anthropic",
    "gemini",
    "cohere",
    "converse",
    "llama",
    "titan",
    "mistral-raw",
    "command",
    "fim",
    "llmengine_v1",
)
#: Pieces of a text as a vendor sends them, and the text that the caller is to get.
CUT_TEXTS: dict[str, tuple[list[str], str]] = {
    "a pair in two pieces": (["ha \ud83d", "\ude00 ha"], "ha \U0001f600 ha"),
    "a pair in two pieces, one at a time": (["\ud83d", "\ude00"], "\U0001f600"),
    "two pairs, each cut": (
        ["\ud83d", "\ude00\ud83d", "\ude01"],
        "\U0001f600\U0001f601",
    ),
    "half a pair, and no more": (["ha \ud83d"], "ha \ufffd"),
    "half a pair, then another text": (["ha \ud83d", "ha"], "ha \ufffdha"),
    "the second half alone": (["\ude00 ha"], "\ufffd ha"),
    "the second half, later": (["ha", "\ude00 ha"], "ha\ufffd ha"),
    "two first halves": (["\ud83d", "\ud83d", "\ude00"], "\ufffd\U0001f600"),
    "halves the wrong way round": (["\ude00", "\ud83d"], "\ufffd\ufffd"),
    "nothing between the halves": (["\ud83d", "", "\ude00"], "\U0001f600"),
    "plain": (["caf\u00e9 ", "\u4f60\u597d \u2028\x00"], "caf\u00e9 \u4f60\u597d \u2028\x00"),
}


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        (name, cut)
        for name in WIRES_OF_TEXT
        for cut in CUT_TEXTS
        if name in ("text", "chat", "anthropic", "gemini", "converse") or cut.startswith("a pair")
    ],
)
def test_a_streamed_text_encodes_however_it_was_cut(site: Site, name: str, cut: str) -> None:
    pieces, text = CUT_TEXTS[cut]
    site.says(say(name, True, *map(Part, pieces)))
    told = site.ask(WIRES[name], stream=True)
    assert told.is_whole(), told
    assert told.texts == {0: text}
    assert by_index(told.reasons) == [["stop"]]
    assert site.event().completion_tokens == 7


@pytest.mark.parametrize("name", WIRES_OF_TEXT)
def test_a_whole_text_encodes(site: Site, name: str) -> None:
    site.says(say(name, False, Part("a \ud83d b \ude00 c \ud83d\ude00")))
    told = site.ask(WIRES[name])
    assert told.is_whole(), told
    assert told.texts == {0: "a \ufffd b \ufffd c \U0001f600"}


@pytest.mark.parametrize("name", ["text", "chat", "gemini"])
def test_two_samples_that_are_cut_by_turns_are_each_put_together(site: Site, name: str) -> None:
    wire = WIRES[name]
    events = [
        wire.event(Part("a\ud83d", index=0)),
        wire.event(Part("b\ud83d", index=1)),
        wire.event(Part("\ude00", index=0)),
        wire.event(Part("\ude01", index=1)),
        wire.event(Part("", wire.stop, 0), Part("", wire.stop, 1)),
    ]
    site.says(wire.stream(*events, wire.event(usage=wire.usage(COUNTS)), wire.mark))
    told = site.ask(wire, stream=True, n=2)
    assert by_index(told.texts) == ["a\U0001f600", "b\U0001f601"]


@BOTH
@pytest.mark.parametrize("junk", [b"\xff", b"\xf0\x9f\x98", b"\xe4\xbd", b"\xc3("])
@pytest.mark.parametrize("name", ["text", "chat", "anthropic", "gemini", "cohere"])
def test_bytes_that_are_no_utf_8_are_replaced(
    site: Site, name: str, junk: bytes, stream: bool
) -> None:
    reply = say(name, stream, Part("ha @@ ha"))
    reply.body = [b.replace(b"@@", junk) if isinstance(b, bytes) else b for b in reply.body]
    site.says(reply)
    told = site.ask(WIRES[name], stream=stream)
    assert told.is_whole(), told
    assert told.texts[0].startswith("ha \ufffd")
    assert told.texts[0].endswith(" ha")


@pytest.mark.parametrize("packet", [1, 2, 3])
def test_a_character_may_be_cut_by_the_network(site: Site, packet: int) -> None:
    wire = WIRES["text"]
    body = wire.event(Part("@@")).replace(b"@@", "caf\u00e9 \U0001f600".encode())
    end = wire.event(Part("", "stop"), usage=wire.usage(COUNTS)) + wire.mark
    site.says(Reply([body + end], 200, SSE, packet=packet))
    assert site.ask(wire, stream=True).texts == {0: "caf\u00e9 \U0001f600"}


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
