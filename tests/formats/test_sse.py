"""Event streams as bytes: packet boundaries make no difference."""

import re
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.formats import sse
from app.formats.sse import (
    DONE,
    EVENT_LIMIT,
    KEEP_ALIVE,
    EventParser,
    EventTooLarge,
    ServerSentEvent,
    error_frame,
    frame,
)

Events = list[tuple[str | None, bytes]]

JSON = '{"text":"a\u2028b\u2029c\u0085d\u000be\u000cf é 語 😀"}'.encode()

STREAMS: dict[str, tuple[bytes, Events]] = {
    "LF": (b"data: a\n\ndata: b\n\n", [(None, b"a"), (None, b"b")]),
    "CR": (b"data: a\r\rdata: b\r\r", [(None, b"a"), (None, b"b")]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [(None, b"a"), (None, b"b")]),
    "mixed line ends": (
        b"data: a\r\n\rdata: b\n\r\ndata: c\r\n\n",
        [(None, b"a"), (None, b"b"), (None, b"c")],
    ),
    "LF CR is two line ends": (b"data: a\n\rdata: b\n\n", [(None, b"a"), (None, b"b")]),
    "comments": (b": PROCESSING\n\n:\n\n:x\ndata: a\n: between\n\n", [(None, b"a")]),
    "no space after the colon": (b"data:a\n\ndata: b\n\n", [(None, b"a"), (None, b"b")]),
    "one space alone is left out": (b"data:   a \n\n", [(None, b"  a ")]),
    "a tab is no space": (b"data:\ta\n\n", [(None, b"\ta")]),
    "data of several lines": (b'data: {"a":\ndata: 1}\n\n', [(None, b'{"a":\n1}')]),
    "data of several lines, CRLF": (b"data: 1\r\ndata: 2\r\n\r\n", [(None, b"1\n2")]),
    "retry alone": (b"retry: 3000\n\ndata: a\n\n", [(None, b"a")]),
    "id alone": (b"id: 7\n\ndata: a\n\n", [(None, b"a")]),
    "an id within": (b"id: 7\ndata: a\nretry: 1\n\n", [(None, b"a")]),
    "a name alone": (b"event: ping\n\ndata: a\n\n", [(None, b"a")]),
    "named events": (b"event: error\ndata: a\n\ndata: b\n\n", [("error", b"a"), (None, b"b")]),
    "a name after the data": (b"data: a\nevent: done\n\n", [("done", b"a")]),
    "the last name counts": (b"event: x\nevent: y\ndata: a\n\n", [("y", b"a")]),
    "an empty name is none": (b"event: x\nevent:\ndata: a\n\n", [(None, b"a")]),
    "a name that is not UTF-8": (b"event: \xff\ndata: a\n\n", [("\ufffd", b"a")]),
    "unknown fields": (b"datas: x\n data: y\nDATA: z\nfoo\ndata: a\n\n", [(None, b"a")]),
    "a byte-order mark": (b"\xef\xbb\xbfdata: a\n\n", [(None, b"a")]),
    "a byte-order mark before a comment": (b"\xef\xbb\xbf: x\ndata: a\n\n", [(None, b"a")]),
    "a byte-order mark counts at the start alone": (
        b"data: a\n\n\xef\xbb\xbfdata: b\n\ndata: \xef\xbb\xbfc\n\n",
        [(None, b"a"), (None, b"\xef\xbb\xbfc")],
    ),
    "characters that only look like line ends": (b"data: " + JSON + b"\n\n", [(None, JSON)]),
    "empty data": (b"data:\n\ndata\n\ndata: \n\n", [(None, b"")] * 3),
    "an empty line of data": (b"data: a\ndata\ndata: b\n\n", [(None, b"a\n\nb")]),
    "no blank line at the end": (b"data: a\n\ndata: b\n", [(None, b"a"), (None, b"b")]),
    "no line end at the end": (b"data: a\r\n\r\ndata: b", [(None, b"a"), (None, b"b")]),
    "a CR at the end": (b"data: a\r", [(None, b"a")]),
    "a cut comment at the end": (b"data: a\n\n: cu", [(None, b"a")]),
    "blank lines": (b"\n\r\n\r\r\n\ndata: a\n\n\n\n", [(None, b"a")]),
    "colons in the data": (b"data: a: b:c\n\n", [(None, b"a: b:c")]),
    "[DONE] in the text": (
        b'data: {"t":"[DONE]"}\n\ndata: [DONE]\n\n',
        [(None, b'{"t":"[DONE]"}'), (None, b"[DONE]")],
    ),
    "NUL": (b"data: a\0b\n\n", [(None, b"a\0b")]),
    "nothing": (b"", []),
    "ten in one": (
        b"".join(b"data: %d\n\n" % n for n in range(10)),
        [(None, b"%d" % n) for n in range(10)],
    ),
    "what we send ourselves": (
        KEEP_ALIVE + frame(JSON) + KEEP_ALIVE + error_frame(b"{}") + DONE,
        [(None, JSON), ("error", b"{}"), ("done", b"[DONE]")],
    ),
}  # fmt: skip


def packets(stream: bytes, size: int) -> Iterator[bytes]:
    """Split a stream into packets of `size` bytes."""
    return (stream[at : at + size] for at in range(0, len(stream), size))


def parsed(cut: Iterable[bytes]) -> Events:
    """Return the events of a stream that arrives in these packets and then ends."""
    parser = EventParser()
    events = [event for packet in cut for event in parser.feed(packet)]
    return [(event.name, event.data) for event in [*events, *parser.flush()]]


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_a_stream_gives_its_events_wherever_packets_end(stream: bytes, events: Events) -> None:
    for size in range(1, len(stream) + 1):
        assert parsed(packets(stream, size)) == events, f"packets of {size} bytes"


@pytest.mark.parametrize("stream", [stream for stream, _ in STREAMS.values()], ids=STREAMS)
def test_a_stream_cut_once_anywhere_gives_the_same_events(stream: bytes) -> None:
    for at in range(len(stream) + 1):
        assert parsed([stream[:at], b"", stream[at:]]) == parsed([stream]), f"cut at {at}"


LINES = st.lists(
    st.tuples(
        st.sampled_from([b"data:", b"data: ", b"event: ", b"id: ", b": ", b"", b"\xef\xbb\xbf"])
        | st.binary(max_size=3),
        st.binary(max_size=8) | st.just(JSON),
        st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b""]),
    ).map(b"".join)
)  # fmt: skip


@given(LINES.map(b"".join), st.data())
def test_any_cutting_of_any_stream_gives_the_events_of_the_whole(
    stream: bytes, data: st.DataObject
) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    cut = [stream[start:end] for start, end in zip([0, *ends], [*ends, len(stream)], strict=True)]
    assert parsed(cut) == parsed([stream])


def _by_the_standard(stream: bytes) -> Events:
    """Parse a whole stream line by line, as the standard does."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events, name, values = [], b"", list[bytes]()
    for line in [*text.split(b"\n"), b""]:
        key, _, value = line.partition(b":")
        if key == b"event":
            name = value.removeprefix(b" ")
        elif key == b"data":
            values.append(value.removeprefix(b" "))
        elif not line:
            if values:
                events.append((name.decode(errors="replace") or None, b"\n".join(values)))
            name, values = b"", []
    return events


#: What is read beyond the standard: an `error` field, and an object without a field's name.
_BARE = re.compile(rb"(?:^(?:\xef\xbb\xbf)?|[\r\n])(?:\{|\[|error(?::|[\r\n]|$))")


@given(LINES.map(b"".join))
def test_events_are_what_the_standard_says_and_the_last_needs_no_blank_line(stream: bytes) -> None:
    assume(not _BARE.search(stream))
    assert parsed([stream]) == _by_the_standard(stream)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\r", b"\r\n\r\n", b"\r\n\r", b"\n\r"])
def test_an_event_does_not_wait_for_the_byte_after_it(end: bytes) -> None:
    parser = EventParser()
    assert [event.data for event in parser.feed(b"data: a" + end)] == [b"a"]
    # and an LF that still belongs to the same line end makes no event
    assert list(parser.feed(b"\n")) == []
    assert [event.data for event in parser.feed(b"data: b\n\n")] == [b"b"]


def test_one_event_in_fifty_packets_is_one_event() -> None:
    stream = b"data: " + b"x" * 500 + b"\n\n"
    assert parsed(packets(stream, -(-len(stream) // 50))) == [(None, b"x" * 500)]


@pytest.mark.parametrize(("start", "size"), [(EVENT_LIMIT - 2**18, 1), (0, 1024)])
def test_a_huge_line_is_read_in_linear_time(start: int, size: int) -> None:
    # Joining what is there with every packet would copy terabytes: the run would time out.
    line = b"x" * (EVENT_LIMIT - 64)
    stream = b"data: " + line + b"\n\n"
    assert parsed([stream[:start], *packets(stream[start:], size)]) == [(None, line)]


def test_an_event_of_very_many_lines_is_read_in_linear_time() -> None:
    count = 300_000
    [(_, data)] = parsed([*([b"data: x\n"] * count), b"\n"])
    assert data == b"\n".join([b"x"] * count)


TOO_LARGE = {
    "one line": (b"data: ", b"x" * 65536),
    "a line without a colon": (b"", b"x" * 65536),
    "a comment": (b": ", b"x" * 65536),
    "many lines of data": (b"", b"data: " + b"x" * 65529 + b"\n"),
    "empty lines of data": (b"", b"data\n" * 13108),
}


@pytest.mark.parametrize(("start", "packet"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_an_event_that_never_ends_is_refused_and_not_kept(
    start: bytes, packet: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 2**20  # it takes long to send so many empty lines as are too many
    monkeypatch.setattr(sse, "EVENT_LIMIT", limit)
    parser = EventParser()
    given_ = list(parser.feed(b"data: first\n\n" + start))
    assert [event.data for event in given_] == [b"first"]
    packets_ = [packet] * (2 * limit // len(packet))
    with pytest.raises(EventTooLarge):
        assert [event for packet in packets_ for event in parser.feed(packet)] == []


def test_the_limit_is_of_one_event_and_not_of_a_packet_or_a_stream() -> None:
    half = b"data: " + b"x" * (EVENT_LIMIT // 2) + b"\n\n"
    assert len(parsed([half * 4])) == 4
    assert len(parsed([half] * 4)) == 4


def test_events_before_one_that_is_too_large_are_given() -> None:
    parser, found = EventParser(), list[ServerSentEvent]()
    stream = b"data: a\n\ndata: " + b"x" * EVENT_LIMIT + b"\n\n"
    with pytest.raises(EventTooLarge, match=str(EVENT_LIMIT)):
        found.extend(parser.feed(stream))
    assert [event.data for event in found] == [b"a"]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b'data: a\n\n{"error": "b"}\n', [(None, b"a"), (None, b'{"error": "b"}')]),
        (b'data: a\n{"error": "b"}\n\n', [(None, b'{"error": "b"}'), (None, b"a")]),
        (b'{\n  "error": "b"\n}\n', [(None, b'{\n  "error": "b"\n}')]),
        (b'{\n  "error": "b"}', [(None, b'{\n  "error": "b"}')]),
        (b'data: a\n\nerror: {"message": "b"}\n', [(None, b"a"), ("error", b'{"message": "b"}')]),
        (b"nonsense\ndata: a\n\n}\n", [(None, b"a")]),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_errors_beside_the_events_are_events(stream: bytes, events: Events, size: int) -> None:
    assert parsed(packets(stream, size)) == events


def test_an_object_may_have_any_number_of_lines() -> None:
    """Measured anew at each line, it would take hours."""
    lines = [b"{", *[b"1"] * 500_000, b"}"]
    (_, event) = parsed([b"data: a\n\n", b"\n".join(lines), b"\n"])
    assert event == (None, b"\n".join(lines))
