"""Finish reasons that come too early, or repeatedly."""

import threading

import pytest

from tests.contract.answers.parts import Part
from tests.contract.answers.reason_parts import COUNTS
from tests.contract.answers.site import BY_VENDOR, TEXT, Site, books, by_index
from tests.contract.answers.wires import WIRES, WORDY
from tests.support.services.polling import wait_until

# Reasons that come too early, or again and again.


@pytest.mark.parametrize("word", ["stop", "length", "gremlins"])
@pytest.mark.parametrize("name", [n for n in WORDY if n != "cohere"])  # there it is the end mark
def test_a_reason_in_every_event_is_told_once_with_or_after_the_last_text(
    site: Site, name: str, word: str
) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    right = {"stop": wire.stop, "length": LENGTH[name], "gremlins": "gremlins"}[word]
    pieces = ["alpha", " beta", " gamma"]
    *events, last = [wire.event(Part(piece, right)) for piece in pieces]
    end = wire.event(Part("", right), usage=usage)
    site.says(wire.stream(wire.opening(usage), *events, last, end, wire.mark))
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    reason = {"stop": "stop", "length": "length", "gremlins": "length"}[word]
    assert (told.texts, told.reasons) == ({0: TEXT}, {0: [reason]})
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


#: Each wire's word for an answer that met its limit.
LENGTH = {
    "text": "length",
    "chat": "length",
    "azure-text": "length",
    "azure-chat": "length",
    "llmengine": "length",
    "launch": "length",
    "anthropic": "max_tokens",
    "gemini": "MAX_TOKENS",
    "vertex": "MAX_TOKENS",
    "converse": "max_tokens",
    "llama": "length",
    "titan": "LENGTH",
    "mistral-raw": "length",
    "command": "MAX_TOKENS",
    "cohere": "MAX_TOKENS",
    "fim": "length",
    "mistral": "length",
}


@pytest.mark.parametrize(
    "name", ["text", "chat", "azure-chat", "gemini", "vertex", "launch", "fim"]
)
def test_a_reason_in_the_first_event_waits_for_the_last_text(site: Site, name: str) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    events = [wire.event(Part("alpha", wire.stop)), wire.event(Part(" beta gamma"))]
    site.says(wire.stream(*events, wire.event(usage=usage), wire.mark))
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    assert (told.texts, told.reasons) == ({0: TEXT}, {0: ["stop"]})
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "chat", "gemini", "launch"])
def test_two_samples_with_a_reason_in_every_event_have_one_each(site: Site, name: str) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    pieces = [("a", 0), ("x", 1), ("b", 0), ("y", 1)]
    events = [wire.event(Part(text, wire.stop, index)) for text, index in pieces]
    site.says(wire.stream(*events, wire.event(usage=usage), wire.mark))
    told = site.ask(wire, stream=True, n=2)
    assert told.is_whole(), told
    assert by_index(told.texts) == ["ab", "xy"]
    assert by_index(told.reasons) == [["stop"], ["stop"]]
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "chat", "gemini", "launch"])
def test_the_last_word_on_a_reason_is_the_one_that_is_told(site: Site, name: str) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    events = [wire.event(Part("alpha beta", wire.stop)), wire.event(Part(" gamma", LENGTH[name]))]
    site.says(wire.stream(*events, wire.event(usage=usage), wire.mark))
    told = site.ask(wire, stream=True)
    assert (told.texts, told.reasons) == ({0: TEXT}, {0: ["length"]})


@pytest.mark.parametrize("name", ["text", "gemini"])
def test_a_caller_that_leaves_a_stream_with_a_reason_in_every_event_has_left(
    site: Site, name: str
) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    first = wire.event(Part("alpha", wire.stop), usage=usage)
    second = wire.event(Part(" beta", wire.stop), usage=usage)
    more = [part for _ in range(100) for part in (0.05, wire.event(Part(" word", wire.stop)))]
    site.says(wire.stream(first, second, *more, threading.Event()))
    with site.open(wire, stream=True) as caller:
        caller.read_until(b"beta")
    wait_until(lambda: site.vendor.hang_ups)
    recorded = site.event()
    assert recorded.status == "disconnected"
    assert recorded.prompt_tokens == 20
    assert recorded.prompt_source == "vendor"
    assert not site.is_blamed()
