import gzip
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from app.errors import VendorFailed, VendorTimeout, VendorUnreachable
from app.gateways.base import Timeouts, Vendor, VendorRequest
from app.gateways.transport import Cancelled, Transport
from app.gateways.watchdog import Watchdog
from tests.services.polling import wait_until
from tests.vendor import CUT, Reply, SimulatedVendor, json_reply

pytestmark = pytest.mark.usefixtures("vendor")


@pytest.fixture
def transport() -> Transport:
    return Transport(Watchdog(tick_s=0.02), {})


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
        return call.body()


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
    with pytest.raises(VendorTimeout) as caught:
        whole(transport, row_at(vendor.url, total_s=0.3))
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
        whole(transport, row_at(slow_headers, total_s=0.3))


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


def test_an_answer_over_the_limit_is_not_held_in_memory(
    transport: Transport, vendor: SimulatedVendor, row: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.gateways.transport.ANSWER_LIMIT", 1000)
    vendor.reply(Reply([b"x" * 600] * 2))
    with pytest.raises(VendorFailed, match="too large"):
        whole(transport, row)


def test_a_redirect_is_not_followed(
    transport: Transport, vendor: SimulatedVendor, row: Vendor
) -> None:
    vendor.reply(Reply([b""], 307, {"location": f"{vendor.url}/elsewhere"}, framing="length"))
    with transport.call(row, ask(row)) as call:
        call.send()
        assert call.status == 307
    assert len(vendor.asked) == 1
