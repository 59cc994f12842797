"""Responses that end early, or in the other form."""

import json

import pytest

from tests.contract.answers.end_checks import (
    COUNTS,
    ENDINGS,
    SILENT,
    _open,
    check_whole,
    said,
)
from tests.contract.answers.parts import ABSENT, SSE, Part
from tests.contract.answers.site import (
    BY_VENDOR,
    PROMPT_TOKENS,
    SOON_S,
    TEXT,
    TEXT_TOKENS,
    Site,
    books,
)
from tests.contract.answers.wires import WIRES
from tests.support.vendor import CUT, FIN, Step


@pytest.mark.parametrize("end", [FIN, CUT, ABSENT], ids=["closed", "reset", "in order"])
@pytest.mark.parametrize("name", WIRES)
def test_a_choice_that_never_ended_is_half_an_answer(site: Site, name: str, end: object) -> None:
    wire = WIRES[name]
    early = wire.usage(COUNTS) if name == "anthropic" else None
    steps: list[Step] = [wire.opening(early), wire.event(Part(TEXT))]
    site.says(wire.stream(*steps, *([] if end is ABSENT else [end])))
    told = site.ask(wire, stream=True)
    assert told.cut
    assert told.error is not None
    assert (told.texts, told.reasons) == ({0: TEXT}, {})
    prompt = PROMPT_TOKENS if early is None else 20
    recorded = site.event()
    assert recorded.status == "truncated"
    assert (recorded.prompt_tokens, recorded.completion_tokens) == (prompt, TEXT_TOKENS)


@pytest.mark.parametrize("name", ["text", "chat", "gemini"])
def test_one_of_two_choices_that_never_ended_is_half_an_answer(site: Site, name: str) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    parts = [Part(TEXT, wire.stop, 0), Part(TEXT, ABSENT, 1)]
    site.says(wire.stream(wire.event(*parts), wire.event(usage=usage)))
    told = site.ask(wire, stream=True, n=2)
    assert told.cut
    assert told.reasons == {0: ["stop"]}
    assert books(site.event()) == ("truncated", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "chat", "gemini", "converse", "llmengine"])
def test_a_stream_that_ends_without_counts_is_whole_and_estimated(site: Site, name: str) -> None:
    wire = WIRES[name]
    site.says(wire.stream(wire.event(Part(TEXT)), wire.event(Part("", wire.stop)), site.ends))
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    sides = ("estimated", "estimated")
    assert books(site.event()) == ("completed", PROMPT_TOKENS, TEXT_TOKENS, *sides)


@pytest.mark.parametrize("name", ["text", "chat", "azure-chat", "launch", "fim"])
def test_a_marked_stream_without_counts_ends_at_once(site: Site, name: str) -> None:
    wire = WIRES[name]
    steps = [wire.event(Part(TEXT)), wire.event(Part("", wire.stop)), wire.mark]
    site.says(wire.stream(*steps, site.ends, _open()))
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    assert told.ended_s - site.ended_s < SOON_S
    sides = ("estimated", "estimated")
    assert books(site.event()) == ("completed", PROMPT_TOKENS, TEXT_TOKENS, *sides)


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        (n, e)
        for n in ("text", "chat", "anthropic", "gemini", "converse", "cohere", "launch")
        for e in ENDINGS
        if e not in SILENT or n in ("text", "converse")
    ],
)
def test_an_object_that_is_complete_is_an_answer(site: Site, name: str, ending: str) -> None:
    wire = WIRES[name]
    whole = wire.whole(Part(TEXT, wire.stop), usage=wire.usage(COUNTS))
    (content,) = whole.body
    assert isinstance(content, bytes)
    assert json.loads(content)
    kind = {"content-type": "application/json"}
    site.says(ENDINGS[ending](kind, content, site.ends))
    check_whole(site, site.ask(wire))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("ending", ["stays open", "is reset", "is shorter than it said"])
@pytest.mark.parametrize("name", ["text", "anthropic"])
def test_an_answer_in_the_other_form_is_over_in_the_same_way(
    site: Site, name: str, ending: str, stream: bool
) -> None:
    """An object for a request of a stream, and a stream for a request of an object."""
    wire = WIRES[name]
    whole = wire.whole(Part(TEXT, wire.stop), usage=wire.usage(COUNTS)).body[0]
    content = whole if stream else said(wire, marked=True)
    assert isinstance(content, bytes)
    site.says(ENDINGS[ending]({"content-type": "text/plain"}, content, site.ends))
    check_whole(site, site.ask(wire, stream=stream))


def test_a_connection_that_ended_oddly_is_not_used_again(site: Site) -> None:
    wire = WIRES["text"]
    odd = ENDINGS["is shorter, and stays open"](SSE, said(wire, marked=True), site.ends)
    site.says(odd, wire.whole(Part(TEXT, "stop"), usage=wire.usage(COUNTS)))
    assert site.ask(wire, stream=True).is_whole()
    assert site.ask(wire).is_whole()
    first, second = site.vendor.asked
    assert first.connection != second.connection
