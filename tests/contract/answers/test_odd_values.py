"""Odd values: names that do not encode, invalid numbers, empty frames."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.contract.answers.openai_wires import OpenAI
from tests.contract.answers.parts import SSE, Counts, Part, data
from tests.contract.answers.site import BY_VENDOR, TEXT, Site, books, serving
from tests.contract.answers.wires import WIRES
from tests.support.services.valkey import Valkey
from tests.support.vendor import Reply, json_reply

COUNTS = Counts(20, 7)
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
HALF = "half \ud83d"


def openai(name: str) -> OpenAI:
    """Return one of the OpenAI-compatible formats."""
    wire = WIRES[name]
    assert isinstance(wire, OpenAI)
    return wire


def say(name: str, stream: bool, part: Part, **more: Any) -> Reply:
    """Return a response whose objects also hold `more`."""
    wire, usage = openai(name), WIRES[name].usage(COUNTS)
    if not stream:
        return wire.whole(part, usage=usage, **more)
    return wire.stream(data(wire.chunk(part, usage=usage, **more)), wire.mark)


def check(site: Site, told: Any) -> None:
    """Check that the response is complete, and encodes."""
    assert told.is_whole(), told
    assert told.texts == {0: TEXT}
    json.dumps(told.chunks, ensure_ascii=False, allow_nan=False).encode()
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


NAMES: list[dict[str, Any]] = [
    {"id": HALF},
    {"model": HALF},
    {"system_fingerprint": HALF},
    {"service_tier": HALF},
    {"id": 7, "model": ["m"], "system_fingerprint": {}},
    {"id": None, "model": None, "object": None},
    {"created": float("nan")},
    {"created": float("inf")},
    {"created": -1},
    {"created": "yesterday"},
    {"created": 1e30},
    {"created": 1.79e9},
    {"created": None},
]


@BOTH
@pytest.mark.parametrize("more", NAMES)
@pytest.mark.parametrize("name", ["text", "chat"])
def test_what_stands_beside_the_choices_cannot_break_them(
    site: Site, name: str, more: dict[str, Any], stream: bool
) -> None:
    site.says(say(name, stream, Part(TEXT, "stop"), **more))
    told = site.ask(WIRES[name], stream=stream)
    check(site, told)
    for chunk in told.chunks:
        assert (type(chunk["created"]), type(chunk["id"]), type(chunk["model"])) == (int, str, str)
        assert 0 <= chunk["created"] < 2**40


BESIDE: list[dict[str, Any]] = [
    {"stop_reason": HALF},
    {HALF: 1},
    {"nested": {"list": [HALF, {HALF: HALF}]}},
    {"score": float("nan"), "ranks": [float("-inf")]},
    {"vast": 2**70},
]


@BOTH
@pytest.mark.parametrize("more", BESIDE)
@pytest.mark.parametrize("name", ["text", "chat"])
def test_what_a_choice_carries_encodes(
    site: Site, name: str, more: dict[str, Any], stream: bool
) -> None:
    site.says(say(name, stream, Part(TEXT, "stop", more=more)))
    check(site, site.ask(WIRES[name], stream=stream))


@BOTH
@pytest.mark.parametrize("word", [HALF, "a\nb", "\x00", "", " ", "\u2028", "x" * 10_000])
@pytest.mark.parametrize("name", ["text", "chat"])
def test_any_word_for_an_end_is_told(site: Site, name: str, word: str, stream: bool) -> None:
    site.says(say(name, stream, Part(TEXT, word)))
    check(site, site.ask(WIRES[name], stream=stream))
    assert site.gateway.get("/../metrics").status_code == 200


@BOTH
def test_a_sentence_for_an_end_reaches_neither_log_nor_metrics(
    site: Site, caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    site.says(say("text", stream, Part(TEXT, "the secret is 42")))
    with caplog.at_level(logging.INFO):
        assert site.ask("text/m", stream=stream).is_whole()
        site.event()
    assert "secret is" not in site.gateway.get("/../metrics").text
    logged = [r.getMessage() for r in caplog.records if r.name.startswith("app")]
    assert [line for line in logged if "finish reason 'other'" in line]
    assert not [line for line in logged if "secret is" in line]


def test_a_vendor_cannot_fill_the_metrics_with_words(site: Site) -> None:
    for number in range(150):
        site.says(say("text", False, Part(TEXT, f"word{number}")))
        assert site.ask("text/m").is_whole()
    text = site.gateway.get("/../metrics").text
    lines = [x for x in text.splitlines() if x.startswith("tollgate_unknown_finish_reasons_total{")]
    assert len(lines) <= 120


@BOTH
@pytest.mark.parametrize("message", [HALF, "a\nb\r\ndata: x", "\x00", "x" * 100_000])
@pytest.mark.parametrize("name", ["text", "chat", "anthropic", "gemini", "cohere"])
def test_a_vendors_words_for_an_error_encode_and_are_cut(
    site: Site, name: str, message: str, stream: bool
) -> None:
    site.says(
        json_reply({"error": {"message": message, "type": "server_error"}, "message": message})
    )
    told = site.ask(WIRES[name], stream=stream)
    assert told.error is not None
    json.dumps(told.error, ensure_ascii=False).encode()
    assert len(told.error["message"]) < 2000
    assert books(site.event()) == ("failed", 0, 0, "none", "none")


@pytest.mark.parametrize("message", [HALF, "a\nb\r\ndata: x\n\nevent: done"])
def test_a_vendors_words_in_the_middle_of_a_stream_stay_in_their_event(
    site: Site, message: str
) -> None:
    wire = WIRES["text"]
    site.says(wire.stream(wire.event(Part(TEXT)), data({"error": {"message": message}})))
    told = site.ask(wire, stream=True)
    assert (told.cut, told.done) == (True, False)
    assert told.error is not None
    json.dumps(told.error, ensure_ascii=False).encode()


FRAMES = [
    b"data: null\n\n",
    b"data: {}\n\n",
    b"data: []\n\n",
    b'data: {"choices": null}\n\n',
    b'data: {"choices": []}\n\n',
    b'data: {"choices": [], "usage": null}\n\n',
    b"data:\n\n",
    b": comment\n\n",
    b"id: 1\nretry: 5\n\n",
    b"event: ping\ndata: {}\n\n",
]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", ["text", "chat"])
def test_frames_that_say_nothing_are_passed_over(site: Site, name: str, frame: bytes) -> None:
    wire = openai(name)
    last = {**wire.chunk(usage=wire.usage(COUNTS)), "choices": None}
    events = [
        wire.event(Part("alpha")),
        wire.event(Part(" beta gamma")),
        wire.event(Part("", "stop")),
    ]
    steps = [frame, *(step for event in events for step in (event, frame)), data(last), frame]
    site.says(Reply([*steps, wire.mark], 200, SSE))
    told = site.ask(wire, stream=True)
    assert told.reasons == {0: ["stop"]}
    check(site, told)


# What was billed is not asked for again.

AGAIN = """
[vendors.again]
gateway = "openai"
base_url = "URL"
retries = 2
fallbacks = ["spare"]

[vendors.spare]
gateway = "openai"
base_url = "URL"
retries = 0
"""


@pytest.fixture(scope="module")
def again_site(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Site]:
    """A gateway with an entry that has retries and a fallback."""
    with serving(tmp_path_factory.mktemp("again"), valkey.url, AGAIN) as site:
        yield site


@BOTH
def test_an_error_in_an_answer_that_cost_nothing_is_tried_again(
    again_site: Site, stream: bool
) -> None:
    again_site.clear()
    error = json_reply({"error": {"message": "Busy.", "type": "overloaded_error"}})
    again_site.says(error, say("text", stream, Part(TEXT, "stop")))
    told = again_site.ask("again/m", stream=stream)
    check(again_site, told)
    assert told.headers["x-tollgate-attempts"] == "2"


PAID_USAGE: Any = WIRES["text"].usage(COUNTS)

#: Failures that the vendor has been paid for.
PAID: dict[str, Callable[[bool], Reply]] = {
    "a reason that means a failure": lambda stream: say("text", stream, Part("", "error")),
    "an error beside a usage": lambda _: json_reply(
        {"error": {"message": "Busy.", "type": "overloaded_error"}, "usage": PAID_USAGE}
    ),
    "a status of failure beside a usage": lambda _: json_reply(
        {"error": {"message": "It broke."}, "usage": PAID_USAGE}, 500
    ),
}


@BOTH
@pytest.mark.parametrize("paid", PAID)
def test_what_was_paid_is_never_tried_again_nor_elsewhere(
    again_site: Site, paid: str, stream: bool
) -> None:
    again_site.clear()
    again_site.says(PAID[paid](stream), say("text", stream, Part(TEXT, "stop")))
    told = again_site.ask("again/m", stream=stream)
    assert told.error is not None
    event = again_site.event()
    assert (event.attempts, event.vendor_served) == (1, "again")
    assert books(event) == ("failed", 20, 7, *BY_VENDOR)
