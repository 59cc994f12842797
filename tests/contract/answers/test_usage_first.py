"""A usage that the vendor sent is recorded as the vendor's, even if the response fails."""

from typing import Any

import pytest

from tests.contract.answers.parts import ABSENT, Counts, Part, Wire, data, named
from tests.contract.answers.site import (
    BY_VENDOR,
    TEXT,
    TEXT_TOKENS,
    Site,
    books,
)
from tests.contract.answers.usage_first_parts import COUNTS, ERROR
from tests.contract.answers.wires import WIRES, WORDY
from tests.support.vendor import Reply, json_reply

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


#: Words that say that the answer failed.
FAILURES: dict[str, tuple[str, ...]] = {
    "text": ("error", "abort"),
    "chat": ("error", "abort"),
    "azure-text": ("error",),
    "azure-chat": ("error",),
    "llmengine": ("abort",),
    "launch": ("error", "abort"),
    "anthropic": ("error",),
    "converse": ("error",),
    "llama": ("error",),
    "titan": ("error",),
    "mistral-raw": ("error",),
    "command": ("ERROR", "TIMEOUT"),
    "cohere": ("ERROR", "TIMEOUT"),
    "fim": ("error",),
    "mistral": ("error",),
}


def answer(wire: Wire, reason: Any, stream: bool, text: str = TEXT) -> Reply:
    """Return a response with a text, a finish reason and a usage."""
    usage = wire.usage(COUNTS)
    if not stream:
        return wire.whole(Part(text, reason), usage=usage)
    words = [wire.event(Part(text))] if text else []
    parts = [*words, wire.event(Part("", reason), usage=None), wire.event(usage=usage)]
    if wire.mark == b"" or wire is WIRES["anthropic"]:  # reason and counts are one event
        parts = [*words, wire.event(Part("", reason), usage=usage)]
    return wire.stream(wire.opening(usage), *parts, wire.mark)


@BOTH
@pytest.mark.parametrize("name", WORDY)
def test_a_reason_that_nobody_knows_is_length_and_its_word_is_told(
    site: Site, name: str, stream: bool
) -> None:
    wire = WIRES[name]
    site.says(answer(wire, "gremlins", stream))
    told = site.ask(wire, stream=stream)
    assert told.is_whole(), told
    assert (told.texts, told.reasons) == ({0: TEXT}, {0: ["length"]})
    assert told.choices[-1]["native_finish_reason"] == "gremlins"
    assert told.counts == (20, 7)
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)
    assert not site.is_blamed()


#: Wires whose whole answers are streams, which need a reason to be whole.
STREAMS_ALONE = ("mistral-raw", "command")


@pytest.mark.parametrize("name", [name for name in WORDY if name not in STREAMS_ALONE])
@pytest.mark.parametrize("reason", [None, ABSENT, ""])
def test_a_whole_answer_without_a_reason_has_stopped(site: Site, name: str, reason: Any) -> None:
    wire = WIRES[name]
    site.says(answer(wire, reason, stream=False))
    told = site.ask(wire)
    assert told.is_whole(), told
    assert (told.texts, told.reasons) == ({0: TEXT}, {0: ["stop"]})
    assert "native_finish_reason" not in told.choices[0]
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@BOTH
@pytest.mark.parametrize("reason", [7, ["stop"], {"type": "stop"}, True])
@pytest.mark.parametrize("name", ["text", "chat", "anthropic", "gemini", "cohere", "converse"])
def test_a_reason_that_is_no_word_costs_no_text(
    site: Site, name: str, stream: bool, reason: Any
) -> None:
    wire = WIRES[name]
    site.says(answer(wire, reason, stream))
    told = site.ask(wire, stream=stream)
    assert told.is_whole(), told
    assert told.texts == {0: TEXT}
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@BOTH
@pytest.mark.parametrize(
    ("name", "word"), [(name, word) for name, words in FAILURES.items() for word in words]
)
def test_a_reason_that_means_a_failure_is_one_and_costs_what_the_vendor_says(
    site: Site, name: str, word: str, stream: bool
) -> None:
    wire = WIRES[name]
    site.says(answer(wire, word, stream))
    told = site.ask(wire, stream=stream)
    assert told.error is not None
    assert told.error["type"] == "vendor_error"
    if stream:
        assert (told.texts, told.reasons, told.cut) == ({0: TEXT}, {}, True)
    else:
        assert told.status == 502
    status = "truncated" if stream else "failed"
    assert books(site.event()) == (status, 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_before_any_text_keeps_its_status_and_its_usage(site: Site, name: str) -> None:
    wire = WIRES[name]
    site.says(answer(wire, FAILURES[name][0], stream=True, text=""))
    told = site.ask(wire, stream=True)
    assert told.status == 502, told
    assert books(site.event()) == ("failed", 20, 7, *BY_VENDOR)


@BOTH
@pytest.mark.parametrize("name", ["gemini", "vertex"])
@pytest.mark.parametrize("reason", ["OTHER", "MALFORMED_FUNCTION_CALL", "NEW_ONE"])
def test_what_google_counts_of_an_odd_answer_is_recorded(
    site: Site, name: str, reason: str, stream: bool
) -> None:
    wire = WIRES[name]
    usage = {"promptTokenCount": 400, "candidatesTokenCount": 20, "thoughtsTokenCount": 4000}
    usage["totalTokenCount"] = 4420
    part = Part(TEXT, reason)
    whole, event = wire.whole(part, usage=usage), wire.event(part, usage=usage)
    site.says(wire.stream(event) if stream else whole)
    site.ask(wire, stream=stream)
    recorded = site.event()
    assert books(recorded)[1:] == (400, 4020, *BY_VENDOR)
    assert recorded.reasoning_tokens == 4000


#: Wires whose answers, of status 200, may be an error.
MAY_FAIL = [n for n in WIRES if n not in ("converse", "llama", "titan", "mistral-raw", "command")]


@pytest.mark.parametrize("name", [n for n in MAY_FAIL if n not in ("cohere", "launch")])
def test_an_error_beside_a_usage_costs_that_usage(site: Site, name: str) -> None:
    wire = WIRES[name]
    site.says(wire.whole(Part(TEXT, wire.stop), usage=wire.usage(COUNTS), error=ERROR))
    told = site.ask(wire)
    assert told.status == 502
    assert told.error is not None
    assert "The engine caught fire." in told.error["message"]
    assert books(site.event()) == ("failed", 20, 7, *BY_VENDOR)


def _error_event(wire: Wire, usage: Any) -> bytes:
    """Return an error event with a usage beside the error."""
    if wire is WIRES["anthropic"]:
        return named({"type": "error", "error": ERROR, "usage": usage})
    if wire is WIRES["cohere"]:
        delta = {"finish_reason": "ERROR", "error": ERROR["message"], "usage": usage}
        return named({"type": "message-end", "delta": delta})
    if wire is WIRES["llmengine_v1"]:
        return data({"output": {"text": "", "finished": True, **usage}, "error": ERROR})
    if name_of(wire) in ("gemini", "vertex"):
        return data({"error": ERROR, "usageMetadata": usage})
    return data({"error": ERROR, "usage": usage})


def name_of(wire: Wire) -> str:
    """Return the name of a format."""
    return next(name for name, one in WIRES.items() if one is wire)


@pytest.mark.parametrize("name", [n for n in MAY_FAIL if n != "launch"])
def test_an_error_event_beside_a_usage_costs_that_usage(site: Site, name: str) -> None:
    wire = WIRES[name]
    error = _error_event(wire, wire.usage(COUNTS))
    site.says(wire.stream(wire.opening(), wire.event(Part(TEXT)), error))
    told = site.ask(wire, stream=True)
    assert (told.texts, told.cut) == ({0: TEXT}, True)
    assert told.error is not None
    assert "The engine caught fire." in told.error["message"]
    assert books(site.event()) == ("truncated", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "chat", "azure-chat", "llmengine", "fim", "mistral"])
def test_a_usage_that_follows_an_error_is_read_where_it_is_here(site: Site, name: str) -> None:
    wire = WIRES[name]
    rest = data({"error": ERROR}) + wire.event(usage=wire.usage(COUNTS)) + wire.mark
    site.says(wire.stream(wire.event(Part(TEXT)), rest))
    told = site.ask(wire, stream=True)
    assert told.error is not None
    assert books(site.event()) == ("truncated", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("status", [500])
@pytest.mark.parametrize("name", ["text", "chat", "anthropic", "gemini"])
def test_a_server_error_costs_what_the_vendor_says_it_does(
    site: Site, name: str, status: int
) -> None:
    wire, place = WIRES[name], "usageMetadata" if name == "gemini" else "usage"
    site.says(json_reply({"error": ERROR, place: wire.usage(COUNTS)}, status))
    assert site.ask(wire).error is not None
    assert books(site.event()) == ("failed", 20, 7, *BY_VENDOR)


#: What stands in place of an answer's choices: wire -> cases of (field, what it holds).
ODD: dict[str, list[tuple[str, Any]]] = {
    "text": [
        ("choices", "nonsense"),
        ("choices", {}),
        ("choices", [1, 2]),
        ("choices", [None]),
        ("choices", []),
        ("choices", None),
        ("choices", [{"index": 0, "text": 5, "finish_reason": "stop"}]),
        ("choices", [{"index": 0, "text": ["a"], "finish_reason": "stop"}]),
        ("choices", [{"index": 0, "text": {"a": 1}, "finish_reason": "stop"}]),
    ],
    "chat": [
        ("choices", "nonsense"),
        ("choices", []),
        ("choices", [{"index": 0, "message": 5, "finish_reason": "stop"}]),
        ("choices", [{"index": 0, "message": None, "finish_reason": "stop"}]),
        ("choices", [{"index": 0, "message": {"content": 5}, "finish_reason": "stop"}]),
        ("choices", [{"index": 0, "message": {"content": {}}, "finish_reason": "stop"}]),
    ],
    "anthropic": [
        ("content", 5),
        ("content", [5]),
        ("content", None),
        ("content", [{"type": "text", "text": 5}]),
    ],
    "gemini": [
        ("candidates", "nonsense"),
        ("candidates", [5]),
        ("candidates", []),
        ("candidates", [{"content": 5, "finishReason": "STOP"}]),
        ("candidates", [{"content": {"parts": 5}, "finishReason": "STOP"}]),
        ("candidates", [{"content": {"parts": [{"text": 5}]}, "finishReason": "STOP"}]),
    ],
    "cohere": [("message", {"content": 5}), ("message", {"content": [{"type": "text"}]})],
    "converse": [("output", 5), ("output", {"message": {"content": [{"text": 5}]}})],
    "llama": [("generation", 5), ("generation", ["a"])],
    "titan": [("outputText", 5)],
    "fim": [("choices", [{"index": 0, "message": 5, "finish_reason": "stop"}])],
    "launch": [("choices", [{"index": 0, "text": 5, "finish_reason": "stop"}])],
}


_TITAN = {"inputTextTokenCount": 20, "results": [{"outputText": 5, "tokenCount": 7}]}


@pytest.mark.parametrize(
    ("name", "place", "odd"), [(n, p, odd) for n, cases in ODD.items() for p, odd in cases]
)
def test_choices_that_are_none_cost_what_the_vendor_says(
    site: Site, name: str, place: str, odd: Any
) -> None:
    wire = WIRES[name]
    more = {"results": _TITAN["results"]} if name == "titan" else {place: odd}
    reply = wire.whole(Part(TEXT, wire.stop), usage=wire.usage(COUNTS), **more)
    site.always(lambda _: reply)
    told = site.ask(wire)
    assert told.status == 502, told
    calls = len(site.vendor.asked)  # a missing choice may have been asked for again
    assert books(site.event()) == ("failed", 20 * calls, 7 * calls, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "chat", "gemini", "anthropic", "cohere", "fim"])
def test_an_event_that_is_too_large_costs_nothing_of_what_came_before(
    site: Site, name: str
) -> None:
    wire = WIRES[name]
    usage = wire.usage(Counts(20, TEXT_TOKENS))
    begun = wire.event(Part(TEXT)) if name in ("anthropic", "cohere") else b""
    begun = begun or wire.event(Part(TEXT), usage=usage)
    piece = b"data: " + b"x" * (17 * 1024 * 1024)
    site.says(wire.stream(wire.opening(usage), begun, piece, b"\n\n"))
    told = site.ask(wire, stream=True)
    assert told.cut
    assert told.texts == {0: TEXT}
    recorded = site.event()
    assert recorded.status == "truncated"
    assert recorded.completion_tokens == TEXT_TOKENS
    if name != "cohere":  # it counts at the end alone
        assert (recorded.prompt_tokens, recorded.prompt_source) == (20, "vendor")
