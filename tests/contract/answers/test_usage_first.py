"""A usage that the vendor sent is recorded as the vendor's, even if the response fails."""

from typing import Any

import pytest

from tests.contract.answers.parts import ABSENT, Part, Wire
from tests.contract.answers.site import (
    BY_VENDOR,
    TEXT,
    Site,
    books,
)
from tests.contract.answers.usage_first_parts import COUNTS
from tests.contract.answers.wires import WIRES, WORDY
from tests.support.vendor import Reply

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
