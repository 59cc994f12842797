"""A response ends at the vendor's end mark, or once all of it has come. The connection's later fate
does not affect the caller.
"""

import pytest

from tests.contract.answers.end_checks import COUNTS, ENDINGS, SILENT, _open, check_whole, said
from tests.contract.answers.parts import AMAZON, SSE, Counts, Part, Wire
from tests.contract.answers.site import (
    TEXT,
    Site,
)
from tests.contract.answers.wires import MARKED, WIRES
from tests.support.vendor import Step


def kind_of(wire: Wire) -> dict[str, str]:
    """Return the content type of a stream."""
    return AMAZON if wire.model.startswith("bedrock") else SSE


#: Wires that end as another one does, so that one silence will do for both.
ALIKE = ("azure-text", "azure-chat", "mistral", "vertex", "titan", "mistral-raw", "command")


@pytest.mark.parametrize(
    ("name", "ending"),
    [(n, e) for n in MARKED for e in ENDINGS if e not in SILENT or n in ("text", "anthropic")],
)
def test_a_stream_is_over_at_its_end_mark(site: Site, name: str, ending: str) -> None:
    wire = WIRES[name]
    site.says(ENDINGS[ending](kind_of(wire), said(wire, marked=True), site.ends))
    check_whole(site, site.ask(wire, stream=True))


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        (n, e)
        for n in WIRES
        for e in ENDINGS
        if (e not in SILENT or n in ("text", "converse")) and (e != "stays open" or n not in ALIKE)
    ],
)
def test_a_stream_is_whole_when_every_choice_and_the_counts_are_here(
    site: Site, name: str, ending: str
) -> None:
    wire = WIRES[name]
    site.says(ENDINGS[ending](kind_of(wire), said(wire, marked=False), site.ends))
    check_whole(site, site.ask(wire, stream=True))


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("ending", ["stays open", "is reset", "lacks its last chunk"])
@pytest.mark.parametrize("name", ["text", "chat", "gemini", "launch"])
def test_two_samples_are_whole_when_both_are_here(
    site: Site, name: str, ending: str, marked: bool
) -> None:
    wire = WIRES[name]
    site.says(ENDINGS[ending](kind_of(wire), said(wire, marked=marked, samples=2), site.ends))
    check_whole(site, site.ask(wire, stream=True, n=2), samples=2)


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("text", b": ping\n\n"),
        ("text", b"\n"),
        ("text", b"event: ping\n\n"),
        ("gemini", b": ping\n\n"),
        ("anthropic", b'event: ping\ndata: {"type": "ping"}\n\n'),
    ],
)
def test_keep_alives_after_all_that_matters_are_silence(
    site: Site, name: str, after: bytes
) -> None:
    wire = WIRES[name]
    alive: list[Step] = [after, 0.1] * 100
    site.says(wire.stream(said(wire, marked=False), site.ends, *alive))
    check_whole(site, site.ask(wire, stream=True))


@pytest.mark.parametrize(
    "junk",
    [b"data: {no json\n\n", b"data: [DONE]\n\n", b'data: {"error": {"message": "late"}}\n\n'],
)
@pytest.mark.parametrize("name", ["text", "anthropic"])
def test_what_follows_the_end_mark_is_nobodys(site: Site, name: str, junk: bytes) -> None:
    wire = WIRES[name]
    site.says(wire.stream(said(wire, marked=True) + junk, site.ends, _open()))
    check_whole(site, site.ask(wire, stream=True))


@pytest.mark.parametrize("name", ["text", "chat", "gemini", "converse", "llama", "llmengine_v1"])
def test_the_counts_are_waited_for(site: Site, name: str) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    finished = wire.event(Part(TEXT, wire.stop))
    if name == "llmengine_v1":
        finished = wire.event(Part(TEXT))
        counted = wire.event(Part("", wire.stop), usage=usage)
    else:
        counted = wire.event(usage=usage)
    site.says(wire.stream(wire.opening(), finished, 0.9, counted, site.ends, wire.mark))
    check_whole(site, site.ask(wire, stream=True))


@pytest.mark.parametrize("name", ["text", "chat", "gemini"])
def test_a_choice_that_has_not_ended_is_waited_for(site: Site, name: str) -> None:
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    first = wire.event(Part(TEXT, wire.stop, 0)) + wire.event(usage=usage)
    second = wire.event(Part(TEXT, wire.stop, 1)) + wire.event(usage=usage)
    site.says(wire.stream(first, 0.9, second, site.ends, wire.mark))
    check_whole(site, site.ask(wire, stream=True, n=2), samples=2)


def test_a_later_count_within_the_wait_is_the_one_that_stands(site: Site) -> None:
    wire = WIRES["text"]
    early = wire.event(Part(TEXT, "stop"), usage=wire.usage(Counts(20, 1)))
    late = wire.event(usage=wire.usage(COUNTS))
    site.says(wire.stream(early, 0.2, late, site.ends, _open()))
    check_whole(site, site.ask(wire, stream=True))
