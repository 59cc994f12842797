"""Events over several lines, and objects on adjacent lines."""

import json
from typing import Any

import pytest

from tests.contract.answers.form_parts import BOTH, COUNTS, check, labelled, stream_of
from tests.contract.answers.openai_wires import OpenAI
from tests.contract.answers.parts import SSE, Part, data
from tests.contract.answers.site import TEXT, Site
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Reply

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
