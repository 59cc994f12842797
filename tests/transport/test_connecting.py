"""How a vendor is reached: TLS, trust, proxies, and connections that went stale."""

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import certifi
import pytest

from app.serving.backoff import is_retryable, pause_s
from app.transport.call import Transport
from app.vendors.vendor import Timeouts, Vendor
from app.vocabulary.errors import VendorConnectTimeout, VendorMisconfigured, VendorUnreachable
from app.vocabulary.vendor_request import VendorRequest
from tests.support.services.listener import Listener
from tests.support.services.proxy import Proxy
from tests.support.services.tls import TLSProxy
from tests.support.vendor import Reply, SimulatedVendor
from tests.transport.conftest import MakeTransport, ours_alone

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


def ask(transport: Transport, url: str, **timeouts: float) -> bytes:
    row = Vendor(name="v", gateway="openai", base_url=url, timeouts=Timeouts(**timeouts))
    request = VendorRequest(f"{url}/completions?a=b", {"Authorization": "Bearer key"}, b"{}")
    with transport.call(row, request) as call:
        call.send()
        return b"".join(call.packets())


def test_a_vendor_behind_tls_is_reached_when_it_is_trusted(
    transport_in: MakeTransport, vendor: SimulatedVendor, tls: TLSProxy
) -> None:
    over_tls = transport_in(REQUESTS_CA_BUNDLE=str(tls.certificate))
    for _ in range(2):
        vendor.reply(Reply([b"ok"]))
        assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"
    assert [asked.connection for asked in vendor.asked] == [1, 1]
    assert vendor.asked[0].headers["host"] == f"127.0.0.1:{tls.port}"
    assert vendor.asked[0].headers["authorization"] == "Bearer key"


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_usual_variables_say_whom_to_trust(
    transport_in: MakeTransport, vendor: SimulatedVendor, tls: TLSProxy, name: str
) -> None:
    vendor.reply(Reply([b"ok"]))
    over_tls = transport_in(**{name: str(tls.certificate)})
    assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"


@pytest.mark.parametrize("beside", [{}, {"SSL_CERT_FILE": certifi.where()}])
def test_a_directory_of_certificates_is_trusted(
    transport_in: MakeTransport,
    vendor: SimulatedVendor,
    tls: TLSProxy,
    tmp_path: Path,
    beside: dict[str, str],
) -> None:
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    command = ["openssl", "x509", "-noout", "-hash", "-in", str(tls.certificate)]
    named = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    (trusted / f"{named}.0").write_bytes(tls.certificate.read_bytes())
    vendor.reply(Reply([b"ok"]))
    over_tls = transport_in(SSL_CERT_DIR=str(trusted), **beside)
    assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"


def test_a_vendor_that_nobody_vouches_for_is_sent_nothing(
    transport_in: MakeTransport, vendor: SimulatedVendor, tls: TLSProxy
) -> None:
    with pytest.raises(VendorMisconfigured, match=r"not trusted \(self-signed\)") as caught:
        ask(transport_in(), f"https://127.0.0.1:{tls.port}/v1")
    assert not caught.value.billable
    assert pause_s(caught.value, 0) is None
    assert vendor.asked == []


@pytest.mark.parametrize(
    ("certificate", "words"),
    [({"days": -1}, "expired"), ({"host": "127.0.0.2"}, "issued for another address")],
)
def test_what_is_wrong_with_a_certificate_is_said(
    transport_in: MakeTransport, tmp_path: Path, certificate: dict[str, Any], words: str
) -> None:
    front = TLSProxy(tmp_path, 1, **certificate)
    with pytest.raises(VendorMisconfigured, match=words):
        ask(
            transport_in(SSL_CERT_FILE=str(front.certificate)), f"https://127.0.0.1:{front.port}/v1"
        )
    front.stop()


def test_a_file_of_certificates_that_is_missing_or_none_is_named(
    transport_in: MakeTransport, tls: TLSProxy, tmp_path: Path
) -> None:
    url = f"https://127.0.0.1:{tls.port}/v1"
    with pytest.raises(VendorMisconfigured, match="SSL_CERT_FILE names a path") as caught:
        ask(transport_in(SSL_CERT_FILE=str(tmp_path / "none.pem")), url)
    assert str(tmp_path) not in caught.value.message
    (tmp_path / "empty.pem").write_text("no certificate")
    with pytest.raises(VendorMisconfigured, match="certificates cannot be read"):
        ask(transport_in(SSL_CERT_FILE=str(tmp_path / "empty.pem")), url)


def test_a_vendor_without_tls_needs_no_certificates(
    transport_in: MakeTransport, vendor: SimulatedVendor
) -> None:
    vendor.reply(Reply([b"ok"]))
    assert ask(transport_in(SSL_CERT_FILE="/no/such/file"), vendor.url) == b"ok"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/v1", "it refused the connection"),
        ("http://no-such-host.invalid/v1", "its host name (is unknown|cannot be looked up)"),
        (
            "http://" + "x" * 64 + ".example/v1",
            "its (host name is unknown|URL or a header is not valid)",
        ),
        ("http://127.0.0.1:99999/v1", "its URL or a header is not valid"),
    ],
)
def test_the_words_say_why_there_is_no_connection(
    transport_in: MakeTransport, url: str, words: str
) -> None:
    with pytest.raises(VendorUnreachable, match=words) as caught:
        ask(transport_in(), url)
    assert not caught.value.billable
    assert urlsplit(url).netloc not in caught.value.message


def test_a_server_without_tls_is_told_from_one_that_is_not_there(
    transport_in: MakeTransport,
) -> None:
    def answer(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listener = Listener(answer)
    with pytest.raises(VendorUnreachable, match=r"the TLS handshake failed \(wrong version number"):
        ask(transport_in(), f"https://127.0.0.1:{listener.port}/v1")
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


def test_a_connection_that_takes_too_long_may_be_tried_again_at_no_cost(
    transport_in: MakeTransport, full: str
) -> None:
    with pytest.raises(VendorConnectTimeout, match="did not accept a connection in time") as caught:
        ask(transport_in(), full, connect_s=0.2)
    assert (caught.value.status, caught.value.billable) == (504, False)
    assert is_retryable(caught.value)


@ours_alone
def test_a_handshake_that_takes_too_long_counts_as_connecting(transport_in: MakeTransport) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(VendorConnectTimeout):
            ask(transport_in(), url, connect_s=0.2)


def test_a_proxy_passes_a_request_on(
    transport_in: MakeTransport,
    vendor: SimulatedVendor,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{proxy.port}")
    vendor.reply(Reply([b"ok"]))
    assert ask(transport_in(), vendor.url) == b"ok"
    (asked,) = proxy.asked
    assert asked.startswith(f"POST {vendor.url}/completions?a=b HTTP/1.1")
    assert "proxy-authorization: basic bwu6c2vjcmv0" in asked.lower()


def test_a_proxy_passes_a_tls_connection_on_and_sees_nothing_of_it(
    transport_in: MakeTransport,
    vendor: SimulatedVendor,
    tls: TLSProxy,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    over_tls = transport_in(REQUESTS_CA_BUNDLE=str(tls.certificate))
    for _ in range(2):
        vendor.reply(Reply([b"ok"]))
        assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"
    (asked,) = proxy.asked
    assert asked.startswith(f"CONNECT 127.0.0.1:{tls.port} HTTP/1.")
    assert "key" not in asked


def test_a_proxy_is_not_used_where_the_environment_excepts_a_host(
    transport_in: MakeTransport,
    vendor: SimulatedVendor,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    vendor.reply(Reply([b"ok"]))
    assert ask(transport_in(), vendor.url) == b"ok"
    assert proxy.asked == []


def test_a_proxy_that_is_away_is_a_vendor_that_cannot_be_reached(
    transport_in: MakeTransport, vendor: SimulatedVendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with pytest.raises(VendorUnreachable, match="its proxy refused the connection"):
        ask(transport_in(), vendor.url)


def test_a_proxy_that_will_not_connect_is_named(
    transport_in: MakeTransport, tls: TLSProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    listener = Listener(refuse)
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{listener.port}")
    with pytest.raises(VendorUnreachable, match=r"its proxy refused to connect \(HTTP 407\)"):
        ask(transport_in(), f"https://127.0.0.1:{tls.port}/v1")
    listener.stop()


def test_a_connection_that_its_vendor_has_closed_is_not_used_again(
    transport_in: MakeTransport, vendor: SimulatedVendor
) -> None:
    ours = transport_in()
    for _ in range(3):
        vendor.reply(Reply([b"ok"]))
        assert ask(ours, vendor.url) == b"ok"
        vendor.hang_up()
    assert [asked.connection for asked in vendor.asked] == [1, 2, 3]
