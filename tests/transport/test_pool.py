"""How long our adapter keeps connections, and in what state."""

import contextlib
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from app.transport.adapter import LlhttpAdapter
from app.transport.http1.exchange import Exchange, packets
from app.transport.outgoing import OutgoingRequest
from app.transport.pool import IDLE_LIMIT_S
from tests.support.services.polling import wait_until
from tests.support.services.tls import TLSProxy
from tests.support.vendor import Reply, SimulatedVendor


class Clock:
    """A clock that a test moves."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def adapter(clock: Clock) -> Iterator[LlhttpAdapter]:
    with contextlib.closing(LlhttpAdapter(clock=clock)) as adapter:
        yield adapter


def opened(
    adapter: LlhttpAdapter, vendor: SimulatedVendor, headers: Mapping[str, str] | None = None
) -> requests.Response:
    """Return a response that has been read whole, and is not closed yet."""
    vendor.reply(Reply([b"ok"], headers=headers or {}, framing="length"))
    request = OutgoingRequest("POST", f"{vendor.url}/completions", {}, b"{}")
    response = adapter.send(request, stream=True, timeout=5.0)
    assert b"".join(packets(response.raw)) == b"ok"
    return response


def exchange(
    adapter: LlhttpAdapter, vendor: SimulatedVendor, headers: Mapping[str, str] | None = None
) -> None:
    opened(adapter, vendor, headers).raw.close()


@pytest.mark.parametrize(
    ("waits_s", "connections"),
    [
        ([1.0] * 5, [1, 1, 1, 1, 1, 1]),
        ([199.0], [1, 1]),
        ([200.0], [1, 2]),
        ([150.0, 149.0], [1, 1, 1]),
        ([150.0, 151.0], [1, 1, 2]),
    ],
)
def test_a_connection_grows_old_by_waiting_and_by_being_used(
    vendor: SimulatedVendor,
    adapter: LlhttpAdapter,
    clock: Clock,
    waits_s: list[float],
    connections: list[int],
) -> None:
    exchange(adapter, vendor)
    for wait_s in waits_s:
        clock.now_s += wait_s
        exchange(adapter, vendor)
    assert [asked.connection for asked in vendor.asked] == connections


@pytest.mark.parametrize(
    ("hint", "limit_s"),
    [
        ("timeout=5", 4),
        ("timeout=5, max=100", 4),
        ('max=7; Timeout = "60"', 59),
        ("timeout=0", 0),
        ("timeout=100000", 200),
        ("max=5", 200),
        ("timeout=soon", 200),
    ],
)
def test_a_vendor_may_say_how_long_it_waits(
    vendor: SimulatedVendor, adapter: LlhttpAdapter, clock: Clock, hint: str, limit_s: float
) -> None:
    headers = {"keep-alive": hint}
    exchange(adapter, vendor, headers)
    if limit_s > 0:
        clock.now_s += limit_s - 0.5
        exchange(adapter, vendor, headers)
        assert [asked.connection for asked in vendor.asked] == [1, 1]
    clock.now_s += limit_s
    exchange(adapter, vendor, headers)
    assert vendor.asked[-1].connection == 2


def test_connections_that_nobody_uses_are_closed_when_others_are_used(
    vendor: SimulatedVendor, adapter: LlhttpAdapter, clock: Clock
) -> None:
    responses = [opened(adapter, vendor) for _ in range(5)]
    for response in responses:
        response.raw.close()
    assert len(vendor.open_connections) == 5
    for _ in range(3):
        clock.now_s += 100
        exchange(adapter, vendor)
    wait_until(lambda: len(vendor.open_connections) == 1)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_system_looks_after_a_connection_that_is_silent(
    vendor: SimulatedVendor, adapter: LlhttpAdapter, tmp_path: Path, scheme: str
) -> None:
    port = urlsplit(vendor.url).port or 0
    tls = TLSProxy(tmp_path, port)
    url = f"{scheme}://127.0.0.1:{tls.port if scheme == 'https' else port}/v1"
    options = list[int]()

    def inspect(exchange: Exchange) -> None:
        sock = exchange.sock
        options.append(sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
        options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        assert sock.gettimeout() is None
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) < IDLE_LIMIT_S

    vendor.reply(Reply([b"ok"]))
    request = OutgoingRequest("POST", url, {}, b"{}", inspect)
    adapter.send(request, timeout=5.0, verify=str(tls.certificate)).close()
    assert options == [1, 1]
    tls.stop()


def test_closing_the_adapter_closes_its_idle_connections(
    vendor: SimulatedVendor, adapter: LlhttpAdapter
) -> None:
    exchange(adapter, vendor)
    adapter.close()
    wait_until(lambda: not vendor.open_connections)
