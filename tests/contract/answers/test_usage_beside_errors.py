"""A usage that came with an error is recorded."""

from typing import Any

import pytest

from tests.contract.answers.parts import Counts, Part, Wire, data, named
from tests.contract.answers.site import (
    BY_VENDOR,
    TEXT,
    TEXT_TOKENS,
    Site,
    books,
)
from tests.contract.answers.usage_first_parts import COUNTS, ERROR
from tests.contract.answers.wires import WIRES
from tests.support.vendor import json_reply

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
