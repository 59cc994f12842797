"""Opens connections with urllib3 - TLS, proxies, SOCKS - and hands their sockets over.

Uses what urllib3 leaves to subclasses: `pool_classes_by_scheme` of its managers, `ConnectionCls`
of its pools, and the methods of its connections. A pool opens a connection for a request only, so
`request` and `getresponse` of our connections send nothing and wait for nothing.
"""

import socket
from collections.abc import Mapping
from typing import Any

import requests
from urllib3 import HTTPConnectionPool, HTTPResponse, PoolManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection

from app.transport.dialing import dial
from app.transport.dns import Resolver


class NotConnected(requests.ConnectionError):
    """No connection could be opened; nothing was sent. Its argument is the cause."""


def opens_only(manager: PoolManager, resolver: Resolver) -> None:
    """Have the pools of a manager open connections for `open_socket`."""
    classes: Mapping[str, Any] = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {
        scheme: _opening_pool(pool_class, resolver) for scheme, pool_class in classes.items()
    }


def open_socket(pool: HTTPConnectionPool, url: str, connect_s: float) -> socket.socket:
    """Return a connected socket without a timeout; `url` names the host that it leads to.

    `connect_s` limits all of it: looking the host up, connecting, the proxy, and TLS.
    Raises: urllib3's HTTPError, OSError.
    """
    response = pool.urlopen(
        "GET",
        url,
        retries=False,
        redirect=False,
        assert_same_host=False,
        preload_content=False,
        timeout=Timeout(connect=connect_s, read=connect_s),
    )
    connection: Any = response.connection
    sock: socket.socket = connection.sock
    connection.sock = None  # or it is closed together with the response
    sock.settimeout(None)
    return sock


class _Opening(HTTPConnection):
    """A connection that is only opened."""

    def request(self, *_: Any, **__: Any) -> None:
        """Send nothing."""

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        """Open the connection, unless TLS or a proxy has already done so."""
        if self.is_closed:
            self.connect()
        return HTTPResponse(status=200, preload_content=False)


class _Dialing(_Opening):
    """A connection whose host is looked up by our resolver."""

    resolver: Resolver

    # A private name, but the only way to a socket of our own: urllib3's SOCKS support uses it, too.
    def _new_conn(self) -> socket.socket:
        timeout_s: Any = self.timeout
        options = self.socket_options or ()
        sock: socket.socket = dial(self.resolver, self.host, self.port or 0, timeout_s, options)
        return sock


def _opening_pool(pool_class: Any, resolver: Resolver) -> Any:
    """Return a subclass of one of urllib3's pools whose connections are only opened."""
    connection_class = pool_class.ConnectionCls
    by_socks = connection_class not in (HTTPConnection, HTTPSConnection)
    bases = (_Opening if by_socks else _Dialing, connection_class)
    ours = type("OpeningConnection", bases, {"resolver": resolver})
    return type("OpeningPool", (pool_class,), {"ConnectionCls": ours})
