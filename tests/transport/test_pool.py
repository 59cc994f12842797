"""How a vendor is reached: TLS, trust, proxies, and connections that went stale."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import certifi
import pytest

from app.serving.backoff import is_retryable, pause_s
from app.transport.call import Transport
from app.transport.http1.connection import Connection, request_bytes
from app.transport.pool import IDLE_LIMIT_S, Connections, Route
from app.transport.watchdog import Watchdog
from app.vendors.vendor import Timeouts, Vendor
from app.vocabulary.errors import VendorConnectTimeout, VendorMisconfigured, VendorUnreachable
from app.vocabulary.vendor_request import VendorRequest
from tests.support.services.listener import Listener
from tests.support.services.polling import wait_until
from tests.support.services.proxy import Proxy
from tests.support.services.tls import TLSProxy
from tests.support.vendor import Reply, SimulatedVendor

PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def tls(tmp_path: Path, vendor: SimulatedVendor) -> Iterator[TLSProxy]:
    front = TLSProxy(tmp_path, urlsplit(vendor.url).port or 0)
    yield front
    front.stop()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    server = Proxy()
    yield server
    server.stop()


def transport(**env: str) -> Transport:
    return Transport(Watchdog(tick_s=0.02), env)


def ask(transport: Transport, url: str, **timeouts: float) -> bytes:
    row = Vendor(name="v", gateway="openai", base_url=url, timeouts=Timeouts(**timeouts))
    request = VendorRequest(f"{url}/completions?a=b", {"Authorization": "Bearer key"}, b"{}")
    with transport.call(row, request) as call:
        call.send()
        return b"".join(call.packets())


def test_a_vendor_behind_tls_is_reached_when_it_is_trusted(
    vendor: SimulatedVendor, tls: TLSProxy
) -> None:
    over_tls = transport(REQUESTS_CA_BUNDLE=str(tls.certificate))
    for _ in range(2):
        vendor.reply(Reply([b"ok"]))
        assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"
    assert [asked.connection for asked in vendor.asked] == [1, 1]
    assert vendor.asked[0].headers["host"] == f"127.0.0.1:{tls.port}"
    assert vendor.asked[0].headers["authorization"] == "Bearer key"


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_usual_variables_say_whom_to_trust(
    vendor: SimulatedVendor, tls: TLSProxy, name: str
) -> None:
    vendor.reply(Reply([b"ok"]))
    over_tls = transport(**{name: str(tls.certificate)})
    assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"


@pytest.mark.parametrize("beside", [{}, {"SSL_CERT_FILE": certifi.where()}])
def test_a_directory_of_certificates_is_trusted(
    vendor: SimulatedVendor, tls: TLSProxy, tmp_path: Path, beside: dict[str, str]
) -> None:
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    command = ["openssl", "x509", "-noout", "-hash", "-in", str(tls.certificate)]
    named = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    (trusted / f"{named}.0").write_bytes(tls.certificate.read_bytes())
    vendor.reply(Reply([b"ok"]))
    over_tls = transport(SSL_CERT_DIR=str(trusted), **beside)
    assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"


def test_a_vendor_that_nobody_vouches_for_is_sent_nothing(
    vendor: SimulatedVendor, tls: TLSProxy
) -> None:
    with pytest.raises(VendorMisconfigured, match=r"not trusted \(self-signed\)") as caught:
        ask(transport(), f"https://127.0.0.1:{tls.port}/v1")
    assert not caught.value.billable
    assert pause_s(caught.value, 0) is None
    assert vendor.asked == []


@pytest.mark.parametrize(
    ("certificate", "words"),
    [({"days": -1}, "expired"), ({"host": "127.0.0.2"}, "issued for another address")],
)
def test_what_is_wrong_with_a_certificate_is_said(
    tmp_path: Path, certificate: dict[str, Any], words: str
) -> None:
    front = TLSProxy(tmp_path, 1, **certificate)
    with pytest.raises(VendorMisconfigured, match=words):
        ask(transport(SSL_CERT_FILE=str(front.certificate)), f"https://127.0.0.1:{front.port}/v1")
    front.stop()


def test_a_file_of_certificates_that_is_missing_or_none_is_named(
    tls: TLSProxy, tmp_path: Path
) -> None:
    url = f"https://127.0.0.1:{tls.port}/v1"
    with pytest.raises(VendorMisconfigured, match="SSL_CERT_FILE names a path") as caught:
        ask(transport(SSL_CERT_FILE=str(tmp_path / "none.pem")), url)
    assert str(tmp_path) not in caught.value.message
    (tmp_path / "empty.pem").write_text("no certificate")
    with pytest.raises(VendorMisconfigured, match="certificates cannot be read"):
        ask(transport(SSL_CERT_FILE=str(tmp_path / "empty.pem")), url)


def test_a_vendor_without_tls_needs_no_certificates(vendor: SimulatedVendor) -> None:
    vendor.reply(Reply([b"ok"]))
    assert ask(transport(SSL_CERT_FILE="/no/such/file"), vendor.url) == b"ok"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/v1", "it refused the connection"),
        ("http://no-such-host.invalid/v1", "its host name (is unknown|cannot be looked up)"),
        ("http://" + "x" * 64 + ".example/v1", "its host name is unknown"),
        ("http://127.0.0.1:99999/v1", "its URL or a header is not valid"),
    ],
)
def test_the_words_say_why_there_is_no_connection(url: str, words: str) -> None:
    with pytest.raises(VendorUnreachable, match=words) as caught:
        ask(transport(), url)
    assert not caught.value.billable
    assert urlsplit(url).netloc not in caught.value.message


def test_a_server_without_tls_is_told_from_one_that_is_not_there() -> None:
    def answer(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listener = Listener(answer)
    with pytest.raises(VendorUnreachable, match=r"the TLS handshake failed \(wrong version number"):
        ask(transport(), f"https://127.0.0.1:{listener.port}/v1")
    listener.stop()


@pytest.fixture
def full() -> Iterator[str]:
    """A host that answers no connection: its queue of them is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(address)
        yield f"http://127.0.0.1:{address[1]}/v1"
        for sock in waiting:
            sock.close()


def test_a_connection_that_takes_too_long_may_be_tried_again_at_no_cost(full: str) -> None:
    with pytest.raises(VendorConnectTimeout, match="did not accept a connection in time") as caught:
        ask(transport(), full, connect_s=0.2)
    assert (caught.value.status, caught.value.billable) == (504, False)
    assert is_retryable(caught.value)


def test_a_handshake_that_takes_too_long_counts_as_connecting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(VendorConnectTimeout):
            ask(transport(), url, connect_s=0.2)


def test_a_proxy_passes_a_request_on(
    vendor: SimulatedVendor, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{proxy.port}")
    vendor.reply(Reply([b"ok"]))
    assert ask(transport(), vendor.url) == b"ok"
    (asked,) = proxy.asked
    assert asked.startswith(f"POST {vendor.url}/completions?a=b HTTP/1.1")
    assert "proxy-authorization: basic bwu6c2vjcmv0" in asked.lower()


def test_a_proxy_passes_a_tls_connection_on_and_sees_nothing_of_it(
    vendor: SimulatedVendor, tls: TLSProxy, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    over_tls = transport(REQUESTS_CA_BUNDLE=str(tls.certificate))
    for _ in range(2):
        vendor.reply(Reply([b"ok"]))
        assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"
    (asked,) = proxy.asked
    assert asked.startswith(f"CONNECT 127.0.0.1:{tls.port} HTTP/1.")
    assert "key" not in asked


def test_a_proxy_is_not_used_where_the_environment_excepts_a_host(
    vendor: SimulatedVendor, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    vendor.reply(Reply([b"ok"]))
    assert ask(transport(), vendor.url) == b"ok"
    assert proxy.asked == []


def test_a_proxy_that_is_away_is_a_vendor_that_cannot_be_reached(
    vendor: SimulatedVendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with pytest.raises(VendorUnreachable, match="its proxy refused the connection"):
        ask(transport(), vendor.url)


def test_a_proxy_that_will_not_connect_is_named(
    tls: TLSProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    listener = Listener(refuse)
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{listener.port}")
    with pytest.raises(VendorUnreachable, match=r"its proxy refused to connect \(HTTP 407\)"):
        ask(transport(), f"https://127.0.0.1:{tls.port}/v1")
    listener.stop()


class Clock:
    """A clock that a test moves."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


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
    vendor: SimulatedVendor, waits_s: list[float], connections: list[int]
) -> None:
    clock = Clock()
    ours = Connections({}, clock=clock)
    exchange(ours, vendor)
    for wait_s in waits_s:
        clock.now_s += wait_s
        exchange(ours, vendor)
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
    vendor: SimulatedVendor, hint: str, limit_s: float
) -> None:
    clock = Clock()
    ours = Connections({}, clock=clock)
    headers = {"keep-alive": hint}
    exchange(ours, vendor, headers)
    if limit_s > 0:
        clock.now_s += limit_s - 0.5
        exchange(ours, vendor, headers)
        assert [asked.connection for asked in vendor.asked] == [1, 1]
    clock.now_s += limit_s
    exchange(ours, vendor, headers)
    assert vendor.asked[-1].connection == 2


def test_connections_that_nobody_takes_are_closed_when_others_are_used(
    vendor: SimulatedVendor,
) -> None:
    clock = Clock()
    ours = Connections({}, clock=clock)
    route = ours.route(f"{vendor.url}/completions")
    taken = [opened(ours, route, vendor) for _ in range(5)]
    for connection in taken:
        ours.give_back(route, connection)
    assert len(route.free) == 5
    for _ in range(3):
        clock.now_s += 100
        exchange(ours, vendor)
    assert len(route.free) == 1
    wait_until(lambda: len(vendor.open_connections) == 1)


def exchange(
    ours: Connections, vendor: SimulatedVendor, headers: Mapping[str, str] | None = None
) -> None:
    route = ours.route(f"{vendor.url}/completions")
    ours.give_back(route, opened(ours, route, vendor, headers))


def opened(
    ours: Connections,
    route: Route,
    vendor: SimulatedVendor,
    headers: Mapping[str, str] | None = None,
) -> Connection:
    """Return a connection on which one answer has been read."""
    vendor.reply(Reply([b"ok"], headers=headers or {}, framing="length"))
    connection = ours.take(route, 5.0)
    connection.send(request_bytes("POST", route.target, route.headers, b""))
    connection.read_head()
    assert b"".join(connection.packets()) == b"ok"
    return connection


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_system_looks_after_a_connection_that_is_silent(
    vendor: SimulatedVendor, tls: TLSProxy, scheme: str
) -> None:
    ours = Connections({"SSL_CERT_FILE": str(tls.certificate)})
    port = tls.port if scheme == "https" else urlsplit(vendor.url).port
    connection = ours.take(ours.route(f"{scheme}://127.0.0.1:{port}/v1"), 5.0)
    with contextlib.closing(connection):
        sock = connection.sock
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.gettimeout() is None
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) < IDLE_LIMIT_S


def test_a_connection_that_its_vendor_has_closed_is_not_used_again(
    vendor: SimulatedVendor,
) -> None:
    ours = transport()
    for _ in range(3):
        vendor.reply(Reply([b"ok"]))
        assert ask(ours, vendor.url) == b"ok"
        vendor.hang_up()
    assert [asked.connection for asked in vendor.asked] == [1, 2, 3]
