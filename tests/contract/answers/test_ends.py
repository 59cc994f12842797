"""A response ends at the vendor's end mark, or once all of it has come. The connection's later fate
does not affect the caller.
"""

import json
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.answers.parts import ABSENT, AMAZON, SSE, Counts, Part, Wire
from tests.contract.answers.site import (
    BY_VENDOR,
    PROMPT_TOKENS,
    SOON_S,
    TEXT,
    TEXT_TOKENS,
    Site,
    books,
    by_index,
)
from tests.contract.answers.wires import MARKED, WIRES
from tests.support.vendor import CUT, FIN, Reply, Step

COUNTS = Counts(20, 7)

#: How an answer is said whose end is odd: its content type, its bytes, and where its end is noted.
Ending = Callable[[dict[str, str], bytes, Step], Reply]


def _gzipped(content: bytes) -> bytes:
    """Return the whole content in gzip, without its trailer."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH)


def _raw(headers: dict[str, str], *steps: Step) -> Reply:
    return Reply(list(steps), 200, headers, framing="raw")


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def _open() -> threading.Event:
    return threading.Event()  # which is never set: the vendor waits until we hang up


CHUNKED = {"transfer-encoding": "chunked"}
GZIP = {"content-encoding": "gzip"}
LONG = {"content-length": "1000000"}

ENDINGS: dict[str, Ending] = {
    "stays open": lambda kind, said, ends: Reply([said, ends, _open()], 200, kind),
    "stays open, unframed": lambda kind, said, ends: _raw(kind, said, ends, _open()),
    "is reset": lambda kind, said, ends: Reply([said, ends, CUT], 200, kind),
    "lacks its last chunk": lambda kind, said, ends: Reply([said, ends, FIN], 200, kind),
    "is shorter than it said": lambda kind, said, ends: _raw({**kind, **LONG}, said, ends, FIN),
    "is shorter, and stays open": lambda kind, said, ends: _raw(
        {**kind, **LONG}, said, ends, _open()
    ),
    "goes on in no chunks": lambda kind, said, ends: _raw(
        {**kind, **CHUNKED}, _chunk(said), ends, b"nonsense\r\n\r\n", FIN
    ),
    "lacks its gzip trailer": lambda kind, said, ends: Reply(
        [_gzipped(said), ends], 200, {**kind, **GZIP}
    ),
    "lacks its gzip trailer, and is reset": lambda kind, said, ends: Reply(
        [_gzipped(said), ends, CUT], 200, {**kind, **GZIP}
    ),
    "lacks its gzip trailer, and stays open": lambda kind, said, ends: Reply(
        [_gzipped(said), ends, _open()], 200, {**kind, **GZIP}
    ),
}


def said(wire: Wire, *, marked: bool, samples: int = 1) -> bytes:
    """Return a whole stream, with or without its end mark."""
    usage = wire.usage(COUNTS)
    pieces = [wire.event(Part(TEXT, index=index)) for index in range(samples)]
    ends = [Part("", wire.stop, index) for index in range(samples)]
    mark = wire.mark if marked else b""
    return b"".join([wire.opening(usage), *pieces, wire.event(*ends, usage=usage), mark])


def kind_of(wire: Wire) -> dict[str, str]:
    """Return the content type of a stream."""
    return AMAZON if wire.model.startswith("bedrock") else SSE


def check_whole(site: Site, told: Any, samples: int = 1) -> None:
    """Check that the caller got all of it, soon, and that no failure was counted."""
    assert told.is_whole(), told
    assert told.done
    assert by_index(told.texts) == [TEXT] * samples
    assert by_index(told.reasons) == [["stop"]] * samples
    assert told.counts == (20, 7)
    assert told.ended_s - site.ended_s < SOON_S
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)
    assert not site.is_blamed()


#: Those that are told by a silence, which takes half a second each; a few wires will do for most.
SILENT = (
    "stays open, unframed",
    "is shorter, and stays open",
    "lacks its gzip trailer, and stays open",
)


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
