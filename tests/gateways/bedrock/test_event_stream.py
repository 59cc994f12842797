import contextlib

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.bedrock.event_stream import MessageParser
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorFailed
from tests.support.vendors.bedrock import event_frame, frame, raw_frame

VENDOR = Vendor(name="bedrock", gateway="bedrock", base_url="https://b.invalid")
FRAMES = event_frame("a", {"text": "caf\u00e9"}) + event_frame("b", {}) + frame({}, b"")


def parsed(*packets: bytes) -> list[tuple[str, bytes]]:
    parser = MessageParser(VENDOR)
    return [(m.header(":event-type"), m.payload) for p in packets for m in parser.feed(p)]


@pytest.mark.parametrize("size", range(1, len(FRAMES) + 1))
def test_frames_may_be_cut_anywhere(size: int) -> None:
    whole = parsed(FRAMES)
    assert [kind for kind, _ in whole] == ["a", "b", ""]
    packets = (FRAMES[at : at + size] for at in range(0, len(FRAMES), size))
    assert parsed(*packets) == whole


def test_a_frame_is_given_as_soon_as_it_is_whole() -> None:
    parser = MessageParser(VENDOR)
    first = event_frame("a", {})
    assert list(parser.feed(first[:-1])) == []
    assert [m.header(":event-type") for m in parser.feed(first[-1:])] == ["a"]


@pytest.mark.parametrize("at", range(len(event_frame("a", {}))))
def test_no_flipped_bit_goes_unnoticed(at: int) -> None:
    broken = bytearray(event_frame("a", {}))
    broken[at] ^= 1
    parser = MessageParser(VENDOR)
    with pytest.raises(VendorFailed, match="sent a malformed event") as caught:
        assert list(parser.feed(bytes(broken) + bytes(2**10))) == []
    assert caught.value.billable


@given(st.lists(st.binary()), st.binary())
def test_whatever_the_headers_hold_is_a_frame_or_a_failure(
    packets: list[bytes], headers: bytes
) -> None:
    for stream in ([raw_frame(headers, b"{}")], packets):
        with contextlib.suppress(VendorFailed):  # anything else fails the test
            parsed(*stream)


def test_a_header_that_is_no_text_says_nothing() -> None:
    headers = b"\x0b:event-type\x04\x00\x00\x00\x07"  # an integer
    buffer = EventStreamBuffer()
    buffer.add_data(raw_frame(headers, b""))
    assert next(buffer).headers == {":event-type": 7}
    assert parsed(raw_frame(headers, b"")) == [("", b"")]


def test_the_library_gets_whole_frames_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    parser, sizes = MessageParser(VENDOR), list[int]()
    add = EventStreamBuffer.add_data

    def noted(self: EventStreamBuffer, data: bytes) -> None:
        sizes.append(len(data))
        add(self, data)

    monkeypatch.setattr(EventStreamBuffer, "add_data", noted)
    found = [m for at in range(len(FRAMES)) for m in parser.feed(FRAMES[at : at + 1])]
    assert len(found) == len(sizes) == 3
    assert sum(sizes) == len(FRAMES)
