"""The tolerant parser: whatever comes is an answer or bad HTTP, wherever it is cut."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from app.transport.http1.errors import BadHTTP
from app.transport.http1.lenient import LenientParser, status_in

#: Pieces of answers, right and wrong.
PARTS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK",
        b"http/1.0 404",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"content-length: 5",
        b"Content-Length : 5, 5",
        b"content-length: 6",
        b"transfer-encoding: chunked",
        b"transfer-encoding: identity",
        b" folded",
        b"no colon",
        b"\r\n",
        b"\n",
        b"\n\n",
        b"hello",
        b"5 ;x=y",
        b"5\nhello\n0\n\n",
        b"0",
        b"\r",
        b"\x00",
    ]
)


class Sink:
    """Keeps what it is told; a body's pieces as one."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.body = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        self.told.append((name, value))

    def on_headers_complete(self) -> None:
        self.told.append("head")

    def on_body(self, piece: bytes) -> None:
        self.body += piece

    def on_message_complete(self) -> None:
        self.told.append("end")


def parsed(*packets: bytes) -> tuple[Any, ...]:
    sink = Sink()
    parser = LenientParser(sink)
    try:
        for packet in packets:
            parser.feed_data(packet)
    except BadHTTP as exc:
        sink.told.append(str(exc))
    return sink.told, sink.body, parser.get_status_code()


@given(st.lists(PARTS, max_size=12).map(b"".join), st.data())
@example(b"HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n5\nhello\n0\n\n", None)
def test_an_answer_means_the_same_wherever_it_is_cut(raw: bytes, data: Any) -> None:
    at = data.draw(st.integers(0, len(raw))) if data else 50
    assert parsed(raw[:at], raw[at:]) == parsed(raw)
    assert parsed(*(raw[i : i + 1] for i in range(len(raw)))) == parsed(raw)


@given(st.binary(max_size=100))
def test_any_bytes_are_an_answer_or_none(raw: bytes) -> None:
    parsed(raw)
    parsed(b"HTTP/1.1 200 OK\r\n" + raw)
    assert status_in(raw) is None or b"HTTP" in raw.upper()


def test_a_status_is_found_behind_interim_ones() -> None:
    assert status_in(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nx: y") == 429
    assert status_in(b"\r\nhttp/1.0 503") == 503
    assert status_in(b"HTTP/1.1 42") is None
    assert status_in(b"") is None


def test_the_chunks_of_one_packet_may_be_many() -> None:
    head, count = b"HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n", 50_000
    told, body, _ = parsed(head + b"1\na\n" * count + b"0\n\n")
    assert (body, told[-1]) == (b"a" * count, "end")
