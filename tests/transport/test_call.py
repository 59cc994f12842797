import contextlib
import gzip
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest

from app.transport.call import Reason, Transport
from app.transport.session import AdapterName
from app.vendors.vendor import Timeouts, Vendor
from app.vocabulary.errors import (
    Cancelled,
    ShuttingDown,
    VendorFailed,
    VendorTimeout,
    VendorUnreachable,
)
from app.vocabulary.vendor_request import VendorRequest
from tests.support.services.listener import Listener
from tests.support.services.polling import wait_until
from tests.support.vendor import CUT, Reply, SimulatedVendor, json_reply
from tests.transport.conftest import ours_alone

pytestmark = pytest.mark.usefixtures("vendor")


@pytest.fixture
def row(vendor: SimulatedVendor) -> Vendor:
    return row_at(vendor.url)


def row_at(url: str, **timeouts: float) -> Vendor:
    return Vendor(name="v", gateway="openai", base_url=url, timeouts=Timeouts(**timeouts))


def ask(row: Vendor) -> VendorRequest:
    return VendorRequest(f"{row.base_url}/completions", {"x": "y"}, b'{"a": 1}')


def whole(transport: Transport, row: Vendor) -> bytes:
    with transport.call(row, ask(row)) as call:
        call.send()
        return b"".join(call.packets())


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("packet", [1, 7, None])
def test_a_body_arrives_whole_however_it_is_framed_and_cut(
    transport: Transport, vendor: SimulatedVendor, row: Vendor, framing: str, packet: int | None
) -> None:
    body = b'{"text": "caf\xc3\xa9"}'
    vendor.reply(Reply([body], framing=framing, packet=packet))  # type: ignore[arg-type]
    assert whole(transport, row) == body
    assert vendor.asked[0].body == {"a": 1}
    assert vendor.asked[0].headers["x"] == "y"


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_a_packet_is_given_on_before_the_next_one_comes(
    transport: Transport, vendor: SimulatedVendor, row: Vendor, framing: str
) -> None:
    more = threading.Event()
    vendor.reply(Reply([b"first", more, b"second"], framing=framing))  # type: ignore[arg-type]
    with transport.call(row, ask(row)) as call:
        call.send()
        packets = call.packets()
        assert next(packets) == b"first"
        more.set()
        assert b"".join(packets) == b"second"


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_connection_serves_one_call_after_the_other(
    transport: Transport, vendor: SimulatedVendor, row: Vendor, framing: str
) -> None:
    for _ in range(3):
        vendor.reply(Reply([b"ok"], framing=framing))  # type: ignore[arg-type]
        assert whole(transport, row) == b"ok"
    assert [asked.connection for asked in vendor.asked] == [1, 1, 1]


def test_a_call_that_is_not_read_to_its_end_gives_no_connection_back(
    transport: Transport, vendor: SimulatedVendor, row: Vendor
) -> None:
    vendor.reply(Reply([b"x" * 1000, threading.Event()]), json_reply({}))
    with transport.call(row, ask(row)) as call:
        call.send()
        next(call.packets())
    assert whole(transport, row) == b"{}"
    assert [asked.connection for asked in vendor.asked] == [1, 2]
    wait_until(lambda: vendor.hang_ups)


def test_a_compressed_body_is_read(
    transport: Transport, vendor: SimulatedVendor, row: Vendor
) -> None:
    packed = gzip.compress(b"plain text")
    vendor.reply(Reply([packed], headers={"content-encoding": "gzip"}, packet=3))
    assert whole(transport, row) == b"plain text"
    assert vendor.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_connection_that_breaks_in_the_body_is_a_failure_that_may_be_billed(
    transport: Transport, vendor: SimulatedVendor, row: Vendor, framing: str
) -> None:
    vendor.reply(Reply([b"half", CUT, b"the rest"], framing=framing))  # type: ignore[arg-type]
    with pytest.raises(VendorFailed) as caught:
        whole(transport, row)
    assert caught.value.billable
    assert caught.value.status == 502


def test_a_connection_that_breaks_before_the_headers_is_a_failure_that_may_be_billed(
    transport: Transport, vendor: SimulatedVendor, row: Vendor
) -> None:
    vendor.default = lambda _: (_ for _ in ()).throw(OSError)
    with pytest.raises(VendorFailed) as caught:
        whole(transport, row)
    assert caught.value.billable
    assert not isinstance(caught.value, VendorUnreachable)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "http://no-such-host.invalid/v1"])
def test_a_vendor_that_cannot_be_reached_is_never_billed(transport: Transport, url: str) -> None:
    with pytest.raises(VendorUnreachable) as caught:
        whole(transport, row_at(url))
    assert not caught.value.billable
    assert url not in caught.value.message


def test_a_silent_vendor_meets_its_deadline(transport: Transport, vendor: SimulatedVendor) -> None:
    vendor.reply(Reply([threading.Event()]))
    with pytest.raises(VendorTimeout, match=r"did not respond in time \(total_s = 0.6\)") as caught:
        whole(transport, row_at(vendor.url, total_s=0.6))
    assert caught.value.status == 504
    assert caught.value.billable
    wait_until(lambda: vendor.hang_ups)


def test_bytes_that_trickle_in_do_not_outlive_the_deadline(
    transport: Transport, vendor: SimulatedVendor
) -> None:
    vendor.reply(Reply([b" ", 0.05] * 1000))
    with pytest.raises(VendorTimeout):
        whole(transport, row_at(vendor.url, total_s=0.3))


@pytest.fixture
def slow_headers() -> Iterator[str]:
    """Listen, accept and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}/v1"


def test_a_vendor_that_accepts_and_says_nothing_meets_its_deadline(
    transport: Transport, slow_headers: str
) -> None:
    with pytest.raises(VendorTimeout):
        whole(transport, row_at(slow_headers, total_s=0.3, idle_s=0.3))


@ours_alone
def test_a_caller_that_leaves_ends_the_call_before_any_header_came(
    transport: Transport, slow_headers: str
) -> None:
    row = row_at(slow_headers)
    started = time.monotonic()
    left = lambda: time.monotonic() > started + 0.1  # noqa: E731
    with transport.call(row, ask(row), left) as call, pytest.raises(Cancelled):
        call.send()


def test_a_caller_that_leaves_ends_the_call_in_the_middle_of_the_body(
    transport: Transport, vendor: SimulatedVendor, row: Vendor
) -> None:
    left = threading.Event()
    vendor.reply(Reply([b"first", threading.Event()]))
    with transport.call(row, ask(row), left.is_set) as call:
        call.send()
        packets = call.packets()
        assert next(packets) == b"first"
        left.set()
        with pytest.raises(Cancelled):
            next(packets)
    wait_until(lambda: vendor.hang_ups)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_unpacked_piece_by_piece(
    transport: Transport, vendor: SimulatedVendor, row: Vendor, encoding: str
) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    bomb = pack(b" " * 50_000_000)
    vendor.reply(Reply([bomb], headers={"content-encoding": encoding}))
    tracemalloc.start()
    try:
        with transport.call(row, ask(row)) as call:
            call.send()
            assert sum(map(len, call.packets())) == 50_000_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.parametrize(
    ("status", "success"), [(200, True), (201, True), (202, True), (203, True), (304, False)]
)
def test_a_status_says_whether_the_body_is_the_answer(
    transport: Transport, vendor: SimulatedVendor, row: Vendor, status: int, success: bool
) -> None:
    vendor.reply(Reply([], status))
    with transport.call(row, ask(row)) as call:
        call.send()
        assert call.is_success is success


GZIP = {"content-encoding": "gzip"}

#: The bodies of errors, and what can be read of each.
UNREADABLE: dict[str, tuple[Reply, bytes]] = {
    "cut": (Reply([b'{"err', CUT], 429), b'{"err'),
    "cut with a length": (Reply([b'{"err', CUT, b"or"], 429, framing="length"), b'{"err'),
    "broken gzip": (Reply([b"\x1f\x8b\x08nonsense"], 429, GZIP), b""),
    "gzip that ends early": (Reply([gzip.compress(b"slow")[:-9]], 429, GZIP), b"slow"),
    "an unknown coding": (Reply([b"\x8b\x02\x80abc"], 429, {"content-encoding": "br"}), b""),
    "no coding": (Reply([b'{"error": 1}'], 429, GZIP), b'{"error": 1}'),
    "silence": (Reply([b"so", threading.Event()], 429), b"so"),
    "a trickle": (Reply([b" ", 0.05] * 1000, 429), b""),
    "too much": (Reply([b"x" * 2000] * 5, 429), b"x" * 1000),
    "a bomb": (Reply([gzip.compress(b"x" * 50_000_000)], 429, GZIP), b"x" * 1000),
    "whole": (Reply([b"slow down"], 429), b"slow down"),
}


@pytest.mark.parametrize(("reply", "readable"), UNREADABLE.values(), ids=UNREADABLE)
def test_of_an_errors_body_as_much_is_read_as_can_be(
    transport: Transport,
    vendor: SimulatedVendor,
    row: Vendor,
    monkeypatch: pytest.MonkeyPatch,
    reply: Reply,
    readable: bytes,
) -> None:
    monkeypatch.setattr("app.transport.call.ERROR_BODY_LIMIT", 1000)
    monkeypatch.setattr("app.transport.call.ERROR_BODY_S", 0.3)
    vendor.reply(reply, json_reply({}))
    with transport.call(row, ask(row)) as call:
        call.send()
        assert (call.status, call.is_success) == (429, False)
        assert call.error_body().strip() == readable
    assert whole(transport, row) == b"{}"


@pytest.mark.parametrize(
    ("reason", "error"), [("cancelled", Cancelled), ("shutdown", ShuttingDown)]
)
def test_an_errors_body_is_not_waited_for_when_the_call_is_ended(
    transport: Transport,
    vendor: SimulatedVendor,
    row: Vendor,
    reason: Reason,
    error: type[Exception],
) -> None:
    vendor.reply(Reply([b"so", threading.Event()], 429))
    with transport.call(row, ask(row)) as call:
        call.send()
        threading.Timer(0.1, call.cancel, [reason]).start()
        with pytest.raises(error) as caught:
            call.error_body()
    assert not getattr(caught.value, "billable", False)


#: What a vendor sends instead of an answer, what the caller is told, and the status that is kept.
BROKEN: dict[str, tuple[bytes, str, int | None]] = {
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not HTTP", None),
    "bad HTTP": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nok",
        "not valid HTTP",
        200,
    ),
    "bad chunks": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n",
        "not valid HTTP",
        200,
    ),
    "a coding": (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 9\r\n\r\n\x8b\x02\x80abcdef",
        "content coding `br`",
        200,
    ),
    "an end": (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok", "broke off the connection", 200),
    "nothing": (b"", "broke off the connection", None),
}


@pytest.mark.parametrize(("raw", "words", "status"), BROKEN.values(), ids=BROKEN)
def test_the_words_tell_what_is_broken_apart(
    transport: Transport, adapter: AdapterName, raw: bytes, words: str, status: int | None
) -> None:
    with raw_server(raw) as url, pytest.raises(VendorFailed) as caught:
        whole(transport, row_at(url))
    assert caught.value.billable
    if adapter == "tollgate":  # http.client tells less apart
        assert words in caught.value.message
        assert caught.value.vendor_status == status


@contextlib.contextmanager
def raw_server(answer: bytes) -> Iterator[str]:
    """Answer each request with the same bytes, and close."""

    def serve(connection: socket.socket) -> None:
        with connection:
            while b"\r\n\r\n" not in connection.recv(65536):
                pass
            connection.sendall(answer)

    listener = Listener(serve)
    yield f"http://127.0.0.1:{listener.port}/v1"
    listener.stop()


def test_a_redirect_is_not_followed(
    transport: Transport, vendor: SimulatedVendor, row: Vendor
) -> None:
    vendor.reply(Reply([b""], 307, {"location": f"{vendor.url}/elsewhere"}, framing="length"))
    with transport.call(row, ask(row)) as call:
        call.send()
        assert call.status == 307
    assert len(vendor.asked) == 1
