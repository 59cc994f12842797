"""The state of a response while it arrives: what may be parsed again, and what ends it."""

import pytest

from app.transport.http1.errors import BadHTTP, EndedEarly
from app.transport.http1.response_parser import HEAD_LIMIT, ResponseParser

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = OK + b"Content-Length: 2\r\n\r\nok"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"


def fed(*packets: bytes) -> ResponseParser:
    """Return a parser that has received these packets."""
    parser = ResponseParser()
    for packet in packets:
        parser.feed(packet)
    return parser


def test_a_response_is_complete_with_its_last_byte() -> None:
    parser = fed(LENGTH[:-1])
    assert (parser.status, parser.has_head, parser.is_complete) == (200, True, False)
    assert parser.take() == b"o"
    parser.feed(b"k")
    assert parser.is_complete
    assert parser.keeps_alive
    assert (parser.take(), parser.take()) == (b"k", b"")


def test_pieces_that_came_together_are_taken_together() -> None:
    assert fed(CHUNKED, b"3\r\n!!!\r\n").take() == b"ok!!!"


def test_repeated_headers_are_joined_and_those_of_interim_responses_dropped() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    parser = fed(interim, OK + b"X-Two: a\r\nx-two: b\r\ncontent-length: 0\r\n\r\n")
    assert parser.headers == {"x-two": "a, b", "content-length": "0"}
    assert parser.is_complete


def test_the_next_response_begins_anew() -> None:
    parser = fed(LENGTH)
    parser.take()
    parser.begin()
    parser.feed(b"HTTP/1.1 500 Oops\r\nX: y\r\nContent-Length: 0\r\n\r\n")
    assert (parser.status, parser.headers["x"], parser.is_complete) == (500, "y", True)
    assert parser.keeps_alive


@pytest.mark.parametrize("noise", [LENGTH, b"noise", b"\x00"])
def test_bytes_after_a_whole_response_end_the_connection_alone(noise: bytes) -> None:
    parser = fed(LENGTH, noise)
    assert (parser.status, parser.take(), parser.failure) == (200, b"ok", None)
    assert not parser.keeps_alive


@pytest.mark.parametrize(
    "headers", [b"", b"Transfer-Encoding: identity\r\n", b"Connection: close\r\n"]
)
def test_a_response_without_a_length_ends_with_its_connection(headers: bytes) -> None:
    parser = fed(OK + headers + b"\r\nok")
    parser.feed_end()
    assert (parser.take(), parser.is_complete) == (b"ok", True)


@pytest.mark.parametrize("packet", [b"", OK, LENGTH[:-1], CHUNKED])
def test_a_response_with_a_length_does_not_end_with_its_connection(packet: bytes) -> None:
    with pytest.raises(EndedEarly):
        fed(packet).feed_end()


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_malformed_response_is_parsed_leniently_from_its_beginning(size: int) -> None:
    raw = b"HTTP/1.1 200 OK\nX: y\nContent-Length: 2\n\nok"
    parser = fed(*(raw[at : at + size] for at in range(0, len(raw), size)))
    assert (parser.status, parser.headers["x"]) == (200, "y")
    assert (parser.take(), parser.is_complete, parser.keeps_alive) == (b"ok", True, False)


def test_a_response_whose_body_was_read_is_not_parsed_again() -> None:
    parser = fed(CHUNKED)
    assert parser.take() == b"ok"
    parser.feed(b"zz\r\n")
    assert isinstance(parser.failure, BadHTTP)
    assert parser.failure.status == 200


def test_of_a_long_response_that_nobody_reads_little_is_kept_to_parse_again() -> None:
    parser = fed(CHUNKED, *[b"1\r\nx\r\n"] * 100)
    parser.feed(b"2\nok\n")
    assert isinstance(parser.failure, BadHTTP)
    assert parser.take() == b"ok" + b"x" * 100


def test_a_connection_with_spaces_after_chunk_sizes_is_not_used_again() -> None:
    parser = fed(OK + b"Transfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n0\r\n\r\n")
    assert (parser.take(), parser.is_complete, parser.keeps_alive) == (b"ok", True, False)


@pytest.mark.parametrize(
    ("raw", "status", "ends"),
    [
        (b"HTTP/1.1 429 Slow down\r\nRetry", 429, True),
        (OK + b"Content", 200, False),
        (b"HTTP/1", None, False),
        (b"", None, False),
    ],
)
def test_an_error_may_end_at_its_status(raw: bytes, status: int | None, ends: bool) -> None:
    parser = fed(raw)
    assert parser.known_status == status
    assert parser.end_at_status() is ends
    assert (parser.has_head, parser.is_complete) == (ends, ends)
    if ends:
        assert (parser.status, parser.keeps_alive) == (status, False)


@pytest.mark.parametrize("size", [1_000, 60_000])
@pytest.mark.parametrize("status", [b"200 OK", b"103 Early Hints"])
def test_a_head_has_a_bounded_size(size: int, status: bytes) -> None:
    head = b"HTTP/1.1 " + status + b"\r\n" + b"a: b\r\n" * HEAD_LIMIT
    parser = fed(*(head[at : at + size] for at in range(0, HEAD_LIMIT + 2 * size, size)))
    assert isinstance(parser.failure, BadHTTP)
    assert "headers are too large" in str(parser.failure)


def test_a_body_of_any_size_may_follow_its_head() -> None:
    parser = fed(OK + b"\r\n", *[b"a" * HEAD_LIMIT] * 4)
    assert (parser.failure, len(parser.take())) == (None, 4 * HEAD_LIMIT)
