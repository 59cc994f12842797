"""The first bytes, and not the content type, decide whether a response is a stream."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.answers.form_parts import BOTH, COUNTS, check, labelled, stream_of
from tests.contract.answers.openai_wires import OpenAI
from tests.contract.answers.parts import Part, Wire
from tests.contract.answers.site import BY_VENDOR, TEXT, Site, books
from tests.contract.answers.wires import WIRES

LABELS = (
    "application/json",
    "application/json; charset=utf-8",
    "text/event-stream",
    "text/plain",
    "application/octet-stream",
    "",
)


TEXTUAL = (
    "text",
    "chat",
    "azure-text",
    "azure-chat",
    "llmengine",
    "launch",
    "anthropic",
    "gemini",
    "vertex",
    "cohere",
    "fim",
    "mistral",
    "llmengine_v1",
)


def object_of(wire: Wire, samples: int = 1) -> bytes:
    """Return a response that is one object, as bytes."""
    parts = [Part(TEXT, wire.stop, index) for index in range(samples)]
    (content,) = wire.whole(*parts, usage=wire.usage(COUNTS)).body
    assert isinstance(content, bytes)
    return content


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", TEXTUAL)
def test_a_stream_is_put_together_for_a_caller_that_wants_one_object(
    site: Site, name: str, label: str
) -> None:
    wire = WIRES[name]
    site.says(labelled(stream_of(wire), label))
    told = site.ask(wire)
    check(site, told)
    assert len(told.chunks) == 1
    assert told.headers["content-type"] == "application/json"


@pytest.mark.parametrize("label", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("name", ["text", "chat", "azure-chat", "gemini", "launch"])
def test_a_stream_of_two_samples_is_put_together(site: Site, name: str, label: str) -> None:
    wire = WIRES[name]
    site.says(labelled(stream_of(wire, 2), label))
    check(site, site.ask(wire, n=2), samples=2)


@pytest.mark.parametrize("name", ["text", "llmengine", "launch"])
def test_a_stream_of_two_prompts_is_put_together(site: Site, name: str) -> None:
    wire = WIRES[name]
    site.says(labelled(stream_of(wire, 2), "application/json"))
    check(site, site.ask(wire, prompt=["one", "two"]), samples=2)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", TEXTUAL)
def test_an_object_is_an_answer_to_a_caller_that_wants_a_stream(
    site: Site, name: str, label: str
) -> None:
    wire = WIRES[name]
    site.says(labelled(object_of(wire), label))
    check(site, site.ask(wire, stream=True))


@pytest.mark.parametrize("name", ["text", "chat", "gemini", "launch"])
def test_an_object_of_two_samples_is_an_answer_to_a_caller_that_wants_a_stream(
    site: Site, name: str
) -> None:
    wire = WIRES[name]
    site.says(labelled(object_of(wire, 2), "text/event-stream"))
    check(site, site.ask(wire, stream=True, n=2), samples=2)


@pytest.mark.parametrize("label", ["application/json", "text/plain", ""])
@pytest.mark.parametrize("name", TEXTUAL)
def test_a_stream_is_one_whatever_its_label(site: Site, name: str, label: str) -> None:
    wire = WIRES[name]
    site.says(labelled(stream_of(wire), label))
    check(site, site.ask(wire, stream=True))


@pytest.mark.parametrize("packet", [1, 7, None])
@pytest.mark.parametrize("blank", [b"\n\n", b" \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n ", b"\t"])
@BOTH
@pytest.mark.parametrize("sent", ["stream", "object"])
def test_what_is_blank_says_nothing(
    site: Site, blank: bytes, stream: bool, sent: str, packet: int | None
) -> None:
    wire = WIRES["text"]
    if sent == "stream":
        blank = blank.rstrip(b" \t")  # a line may not begin with a blank there
    content = blank + (stream_of(wire) if sent == "stream" else object_of(wire))
    reply = replace(labelled(content, "application/octet-stream"), packet=packet)
    site.says(reply)
    check(site, site.ask(wire, stream=stream))


@pytest.mark.parametrize(
    "first", [b": hello\n\n", b"retry: 3\n\n", b"id: 1\n", b"event: message\n"]
)
@BOTH
def test_a_stream_may_begin_with_any_field(site: Site, first: bytes, stream: bool) -> None:
    wire = WIRES["text"]
    site.says(labelled(first + stream_of(wire), "application/json"))
    check(site, site.ask(wire, stream=stream))


@BOTH
def test_an_indented_object_is_one(site: Site, stream: bool) -> None:
    wire = WIRES["text"]
    content = json.dumps(json.loads(object_of(wire)), indent=2).encode() + b"\n"
    site.says(labelled(content, "text/event-stream"))
    check(site, site.ask(wire, stream=stream))


@pytest.mark.parametrize("name", ["gemini", "vertex"])
@BOTH
def test_googles_stream_as_one_array_is_read(site: Site, name: str, stream: bool) -> None:
    """Google sends it if a proxy drops `alt=sse`."""
    wire = WIRES[name]
    events = [event.removeprefix(b"data: ") for event in stream_of(wire).split(b"\n\n") if event]
    site.says(labelled(b"[" + b"\n,\r\n".join(events) + b"]", "application/json"))
    check(site, site.ask(wire, stream=stream))


@pytest.mark.parametrize("name", ["text", "chat", "launch"])
def test_log_probabilities_are_put_together_too(site: Site, name: str) -> None:
    wire = WIRES[name]
    chat = isinstance(wire, OpenAI) and wire.chat

    def scores(token: str, at: int) -> dict[str, Any]:
        if chat:
            entry = {"token": token, "logprob": -0.5 - at, "bytes": None, "top_logprobs": []}
            return {"logprobs": {"content": [entry]}}
        told = {"tokens": [token], "token_logprobs": [-0.5 - at], "text_offset": [6 * at]}
        return {"logprobs": {**told, "top_logprobs": None}}

    words = ["alpha ", "beta "]
    events = [wire.event(Part(w, more=scores(w, at))) for at, w in enumerate(words)]
    end = wire.event(Part("", wire.stop), usage=wire.usage(COUNTS))
    site.says(labelled(b"".join([*events, end, wire.mark]), "application/json"))
    told = site.ask(wire, logprobs=0)
    logprobs = told.choices[0]["logprobs"]
    assert logprobs["tokens"] == words
    assert logprobs["token_logprobs"] == [-0.5, -1.5]
    assert logprobs["text_offset"] == [0, 6]
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)
