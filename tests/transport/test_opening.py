"""urllib3 opens a connection and hands its socket over: nothing is sent on it."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from urllib3 import PoolManager, ProxyManager
from urllib3.exceptions import HTTPError, SSLError
from urllib3.exceptions import TimeoutError as Urllib3Timeout

from app.transport.connect_errors import root_cause
from app.transport.dns import Resolver
from app.transport.opening import open_socket, opens_only
from tests.support.services.listener import Listener
from tests.support.services.polling import wait_until
from tests.support.services.proxy import Proxy
from tests.support.services.tls import TLSProxy
from tests.transport.name_server import NameServer


class Server(Listener):
    """Keeps what it receives on each connection that has ended."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        super().__init__(self._keep)

    def _keep(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            self.received.append(reader.read())


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.stop()


def opened(manager: PoolManager, url: str, connect_s: float = 5.0) -> socket.socket:
    opens_only(manager, Resolver())
    return open_socket(manager.connection_from_url(url), url, connect_s)


def test_a_socket_is_connected_has_no_timeout_and_is_the_callers(server: Server) -> None:
    with opened(PoolManager(), f"http://127.0.0.1:{server.port}/") as sock:
        assert sock.getpeername() == ("127.0.0.1", server.port)
        assert sock.gettimeout() is None
        sock.sendall(b"hello")
    wait_until(lambda: server.received == [b"hello"])


def test_the_host_is_looked_up_by_our_resolver(server: Server, names: NameServer) -> None:
    with opened(PoolManager(), f"http://v.example:{server.port}/") as sock:
        assert sock.getpeername() == ("127.0.0.1", server.port)
    assert names.asked == {"v.example": 1}


def test_tls_is_done_before_the_socket_is_handed_over(server: Server, tmp_path: Path) -> None:
    tls = TLSProxy(tmp_path, server.port)
    url = f"https://127.0.0.1:{tls.port}/"
    with opened(PoolManager(ca_certs=str(tls.certificate)), url) as sock:
        assert isinstance(sock, ssl.SSLSocket)
        assert sock.getpeercert()
        sock.sendall(b"hello")
    wait_until(lambda: server.received == [b"hello"])
    with pytest.raises(SSLError):
        opened(PoolManager(), url)
    tls.stop()


def test_a_proxy_that_forwards_requests_is_connected_to_and_asked_nothing(proxy: Proxy) -> None:
    manager = ProxyManager(f"http://127.0.0.1:{proxy.port}")
    with opened(manager, "http://v.example/") as sock:
        assert sock.getpeername() == ("127.0.0.1", proxy.port)
    assert proxy.asked == []


def test_tls_leads_through_a_proxys_tunnel(server: Server, proxy: Proxy, tmp_path: Path) -> None:
    tls = TLSProxy(tmp_path, server.port)
    manager = ProxyManager(f"http://127.0.0.1:{proxy.port}", ca_certs=str(tls.certificate))
    with opened(manager, f"https://127.0.0.1:{tls.port}/") as sock:
        sock.sendall(b"hello")
    wait_until(lambda: server.received == [b"hello"])
    (asked,) = proxy.asked
    assert asked.startswith(f"CONNECT 127.0.0.1:{tls.port} HTTP/1.")
    tls.stop()


@pytest.mark.parametrize("url", ["http://v.example/", "https://v.example/"])
def test_a_connection_that_is_refused_is_an_error_whose_cause_says_so(url: str) -> None:
    for manager in (PoolManager(), ProxyManager("http://127.0.0.1:1")):
        to = url if isinstance(manager, ProxyManager) else url.replace("v.example", "127.0.0.1:1")
        with pytest.raises((HTTPError, OSError)) as caught:
            opened(manager, to)
        assert isinstance(root_cause(caught.value), ConnectionRefusedError)


def test_the_limit_includes_the_handshake() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(Urllib3Timeout):
            opened(PoolManager(), url, 0.2)
