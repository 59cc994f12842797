"""The first bytes, and not the content type, decide whether a response is a stream."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.answers.openai_wires import OpenAI
from tests.contract.answers.parts import SSE, Counts, Part, Wire, data
from tests.contract.answers.site import BY_VENDOR, TEXT, Site, books, by_index
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Reply

COUNTS = Counts(20, 7)
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

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


def labelled(content: bytes, label: str) -> Reply:
    """Return the content with a content type that may be wrong."""
    return Reply([content], 200, {"content-type": label}, framing="length")


def stream_of(wire: Wire, samples: int = 1) -> bytes:
    """Return a stream, word by word, as bytes."""
    usage = wire.usage(COUNTS)
    events = [
        wire.event(Part(word, index=index))
        for word in ("alpha", " beta", " gamma")
        for index in range(samples)
    ]
    end = wire.event(*(Part("", wire.stop, index) for index in range(samples)), usage=usage)
    return b"".join([wire.opening(usage), *events, end, wire.mark])


def object_of(wire: Wire, samples: int = 1) -> bytes:
    """Return a response that is one object, as bytes."""
    parts = [Part(TEXT, wire.stop, index) for index in range(samples)]
    (content,) = wire.whole(*parts, usage=wire.usage(COUNTS)).body
    assert isinstance(content, bytes)
    return content


def check(site: Site, told: Any, samples: int = 1) -> None:
    """Check that the caller got all of it, in the form that it requested."""
    assert told.is_whole(), told
    assert told.done
    assert by_index(told.texts) == [TEXT] * samples
    assert by_index(told.reasons) == [["stop"]] * samples
    assert told.counts == (20, 7)
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)
    assert not site.is_blamed()


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


# Lines of data.


def lines(*bodies: Any) -> bytes:
    """Return one event of several lines of data."""
    return b"".join(f"data: {json.dumps(body)}\n".encode() for body in bodies) + b"\n"


@BOTH
@pytest.mark.parametrize("name", ["text", "chat", "azure-chat", "fim", "llmengine"])
def test_complete_objects_on_adjacent_lines_are_chunks_of_their_own(
    site: Site, name: str, stream: bool
) -> None:
    wire = WIRES[name]
    assert isinstance(wire, OpenAI)
    first = lines(wire.chunk(Part("alpha")), wire.chunk(Part(" beta")))
    last = lines(
        wire.chunk(Part(" gamma")),
        wire.chunk(Part("", "stop")),
        wire.chunk(usage=wire.usage(COUNTS)),
    )
    site.says(Reply([first, last, wire.mark], 200, SSE))
    check(site, site.ask(wire, stream=stream))


@pytest.mark.parametrize("name", ["text", "chat"])
def test_an_end_mark_may_be_on_the_next_line(site: Site, name: str) -> None:
    wire = WIRES[name]
    assert isinstance(wire, OpenAI)
    chunk = wire.chunk(Part(TEXT, "stop"), usage=wire.usage(COUNTS))
    content = f"data: {json.dumps(chunk)}\ndata: [DONE]\n\n".encode()
    site.says(Reply([content], 200, SSE))
    check(site, site.ask(wire, stream=True))


@pytest.mark.parametrize("name", ["text", "chat", "anthropic", "gemini", "cohere", "launch"])
def test_one_object_over_several_lines_stays_one(site: Site, name: str) -> None:
    wire = WIRES[name]
    content = b""
    for event in stream_of(wire).split(b"\n\n"):
        head, _, body = event.partition(b"data: ")
        if not event or body == b"[DONE]":
            continue
        text = json.dumps(json.loads(body), indent=1).replace("\n", "\ndata: ")
        content += head + b"data: " + text.encode() + b"\n\n"
    site.says(Reply([content + wire.mark], 200, SSE))
    check(site, site.ask(wire, stream=True))


@pytest.mark.parametrize("name", ["text", "chat"])
def test_events_without_a_blank_line_between_them_are_read(site: Site, name: str) -> None:
    wire = WIRES[name]
    site.says(Reply([stream_of(wire).replace(b"\n\n", b"\n") + b"\n"], 200, SSE))
    check(site, site.ask(wire, stream=True))


def test_the_words_of_a_label_are_not_looked_at(site: Site) -> None:
    """An HTML page with the content type of a stream is an error."""
    site.says(labelled(b"<html><body>Bad gateway</body></html>", "text/event-stream"))
    told = site.ask("text/m", stream=True)
    assert told.status == 502
    assert site.event().status == "failed"


def test_an_empty_answer_is_none(site: Site) -> None:
    site.says(labelled(b"", "text/event-stream"))
    told = site.ask("text/m", stream=True)
    assert told.status == 502
    assert site.event().status == "failed"


def test_data_without_an_object_is_skipped(site: Site) -> None:
    wire = WIRES["text"]
    site.says(Reply([b"data:\n\n", b"data: \n\n", data({}), stream_of(wire)], 200, SSE))
    check(site, site.ask(wire, stream=True))
