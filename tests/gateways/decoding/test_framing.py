"""Frames of a response: its bytes decide between events and JSON, however they are split."""

import json

import pytest

from app.formats.sse import EVENT_LIMIT
from app.gateways.decoding.framing import (
    FREE_ATTEMPTS,
    LINES_BYTES,
    LINES_LIMIT,
    SEARCHED_BYTES,
    TextFraming,
    values_in,
)
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorFailed
from tests.gateways.reading import cut

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://v.invalid")
BOM = b"\xef\xbb\xbf"


def frames(body: bytes, size: int | None = None) -> list[tuple[str | None, bytes]]:
    """Return the frames of a body that arrives in packets of `size` bytes."""
    framing = TextFraming(VENDOR)
    found = [tuple(frame) for packet in cut(body, size) for frame in framing.feed(packet)]
    found += [tuple(frame) for frame in framing.flush()]
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"data: 1\n\ndata: 2\n\n", [(None, b"1"), (None, b"2")]),
        (b"event: a\r\ndata: 1\r\n\r\n", [("a", b"1")]),
        (b": comment\n\ndata: 1\n\n", [(None, b"1")]),
        (b"noise before\ndata: 1\n\n", [(None, b"1")]),
        (BOM + b"data: 1\n\n", [(None, b"1")]),
        (b"data: 1", [(None, b"1")]),  # no blank line at the end
        (b"error: broken\n\n", [("error", b"broken")]),
        (b'{"data: 1": 2}', [(None, b'{"data: 1": 2}')]),
        (b' \n[1,\n"data: 2"]', [(None, b'[1,\n"data: 2"]')]),
        (b"<html>", [(None, b"<html>")]),
        (b" \n", []),
        (b"", []),
    ],
)
def test_events_and_json_are_told_apart_by_their_bytes(
    body: bytes, found: list[tuple[str | None, bytes]], size: int | None
) -> None:
    assert frames(body, size) == found


def test_json_may_be_complete_once_it_ends_in_a_bracket() -> None:
    framing = TextFraming(VENDOR)
    assert not framing.is_closed
    list(framing.feed(b'{"a": {}'))
    assert (framing.is_json, framing.is_closed) == (True, True)
    list(framing.feed(b', "b": [2]'))
    assert not framing.is_closed
    list(framing.feed(b"}\n"))
    assert framing.is_closed


def test_a_list_that_comes_item_by_item_is_complete_at_its_own_bracket() -> None:
    """Parsed after each item, a list of some thousands would take minutes."""
    framing = TextFraming(VENDOR)
    for packet in (b'[{"a": [1]}', b',\n{"a": 2}'):
        assert not list(framing.feed(packet))
        assert (framing.is_json, framing.is_closed) == (True, False)
    assert not list(framing.feed(b"\n]\n"))
    assert framing.is_closed


def test_text_without_an_event_near_its_beginning_is_no_stream() -> None:
    body = b"x" * SEARCHED_BYTES + b"\ndata: 1\n\n"
    assert frames(body, 1000) == [(None, body)]


def test_an_event_that_is_too_large_is_a_failure() -> None:
    framing = TextFraming(VENDOR)
    list(framing.feed(b"data: 1\n\n"))
    with pytest.raises(VendorFailed, match="sent an event that is too large"):
        list(framing.feed(b"data: " + b"x" * EVENT_LIMIT + b"\n"))


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b'{"a": 1}', [{"a": 1}]),
        (b'{"a":\n1}', [{"a": 1}]),
        (b'{"a": 1}\n{"b":\n2}\n\n', [{"a": 1}, {"b": 2}]),
        (b"null", [None]),
    ],
)
def test_a_frame_may_hold_several_values_on_lines_of_their_own(
    data: bytes, values: list[object]
) -> None:
    assert values_in(VENDOR, data) == values


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"{", b'{"a": 1}\n{', b"\n".join([json.dumps(1).encode()] * (LINES_LIMIT + 1))],
)
def test_anything_else_is_not_json(data: bytes) -> None:
    with pytest.raises(VendorFailed, match="sent something that is not JSON"):
        values_in(VENDOR, data)


def test_blanks_before_a_response_are_not_kept() -> None:
    framing = TextFraming(VENDOR)
    for _ in range(10_000):
        assert list(framing.feed(b" " * 1_000 + b"\n")) == []
    assert framing._body.tell() == 0
    assert [frame.data for frame in framing.feed(BOM + b"\ndata: 1\n\n")] == [b"1"]


@pytest.mark.parametrize("body", [b"\xef", b"\xef\xbb", b"\xefdata: 1\n\n"])
def test_a_part_of_a_byte_order_mark_is_not_lost(body: bytes) -> None:
    assert frames(body, 1) == [(None, body)]


def test_a_field_is_found_wherever_a_packet_ends() -> None:
    body = b"<html>" * 2_000 + b"\ndata: 1\n\n"
    assert frames(body, 1) == frames(body) == [(None, b"1")]


def test_json_in_many_packets_is_parsed_a_bounded_number_of_times() -> None:
    framing, parsed = TextFraming(VENDOR), 0
    for packet in (b'{"a": "}{", "b": [', *[b"{}, {}"] * 5_000, b"]"):
        list(framing.feed(packet))
        parsed += framing.is_closed
    assert parsed == FREE_ATTEMPTS
    list(framing.feed(b"}"))
    assert framing.is_closed


def test_the_lines_of_a_frame_are_parsed_up_to_a_limit() -> None:
    lines = [b"[", *[b"1,"] * 100, b'"' + b"a" * (LINES_BYTES // 50) + b'",', *[b"1,"] * 90, b"2]]"]
    with pytest.raises(VendorFailed, match="not JSON"):
        values_in(VENDOR, b"\n".join(lines))
    assert values_in(VENDOR, b"[\n1]\n\n{}") == [[1], {}]
