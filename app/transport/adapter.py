"""The transport adapters that a `requests.Session` sends vendor calls through.

`LlhttpAdapter` is the default: llhttp parses, and connections are kept by `pool`. `StockAdapter`
is requests' own, on urllib3 and `http.client`, for comparison: a call through it costs ten times
as much. It cannot cancel a call before the response headers, and knows no deadlines.
"""

import functools
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from app.transport.dns import Resolver
from app.transport.http1.exchange import Exchange
from app.transport.http1.headers import LowerCaseHeaders
from app.transport.http1.request import request_bytes
from app.transport.opening import NotConnected, open_socket, opens_only
from app.transport.outgoing import OutgoingRequest
from app.transport.pool import ConnectionPool, Idle

#: Vendors' hosts, for each of which urllib3 keeps a pool.
HOSTS_LIMIT = 64

#: Idle connections to one host.
IDLE_LIMIT = 1000

#: URLs whose route is remembered; some vendors have one for each model.
ROUTES_LIMIT = 1024

#: How long opening a connection may take, in seconds, if the caller sets no timeout.
CONNECT_S = 5.0

DEFAULT_PORTS = {"http": 80, "https": 443}


class StockAdapter(HTTPAdapter):
    """requests' own adapter, which also trusts the certificates in `ca_directory`."""

    def __init__(self, ca_directory: str | None = None, *, idle_limit: int = IDLE_LIMIT) -> None:
        self._ca_directory = ca_directory
        super().__init__(pool_connections=HOSTS_LIMIT, pool_maxsize=idle_limit)

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> Any:
        """Add the directory to what requests takes from `verify`."""
        host, tls = attributes = super().build_connection_pool_key_attributes(request, verify, cert)
        if self._ca_directory is not None and verify and host["scheme"] == "https":
            tls.setdefault("ca_cert_dir", self._ca_directory)
        return attributes


@dataclass(frozen=True, slots=True)
class _Route:
    """The way to one URL: what its requests begin with, and the connections to its host."""

    target: str
    headers: Mapping[str, str] = field(repr=False)
    idle: Idle
    opened: Callable[[float], socket.socket]


class LlhttpAdapter(StockAdapter):
    """Sends a request and returns when its response's headers are there; the body is a stream.

    Of `HTTPAdapter` it uses what decides how to connect: TLS settings and proxies.
    """

    def __init__(
        self, ca_directory: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._resolver = Resolver()
        self._connections = ConnectionPool(IDLE_LIMIT, clock)
        #: What is in a new Response. To make each with its own cookie jar, which nothing fills,
        #: would cost as much as to parse the headers.
        self._new_response = vars(requests.Response())
        self._route = functools.lru_cache(ROUTES_LIMIT)(self._make_route)
        super().__init__(ca_directory, idle_limit=1)  # urllib3's pools stay empty

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Have urllib3 open connections, and no more."""
        super().init_poolmanager(*args, **kwargs)
        opens_only(self.poolmanager, self._resolver)

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: Any) -> Any:
        """Have urllib3 open connections through a proxy, and no more."""
        is_new = proxy not in self.proxy_manager
        manager = super().proxy_manager_for(proxy, **proxy_kwargs)
        if is_new:
            opens_only(manager, self._resolver)
        return manager

    def send(  # noqa: PLR0917 - requests' signature
        self,
        request: requests.PreparedRequest,
        stream: bool = False,  # noqa: ARG002 - the body always is one
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Send a request, on an idle connection if there is one.

        A request that can be cancelled has no read timeout: it ends by its deadline.
        Raises: requests.RequestException; what the request's `on_exchange` raises.
        """
        connect_s, read_s = timeout if isinstance(timeout, tuple) else (timeout, timeout)
        try:
            route = self._route(request.url, verify, cert, tuple((proxies or {}).items()))
            message = _message(request, route)
            connection = self._connections.acquire(route.idle, route.opened, connect_s or CONNECT_S)
        except (HTTPError, OSError, ValueError) as exc:
            raise NotConnected(exc, request=request) from exc
        exchange = Exchange(connection, self._connections.release)
        try:
            _converse(request, exchange, message, read_s)
        except BaseException:
            exchange.close()
            raise
        return self._response(request, exchange)

    def close(self) -> None:
        """Close all idle connections."""
        super().close()
        self._connections.close()

    def _response(self, request: requests.PreparedRequest, exchange: Exchange) -> requests.Response:
        response = requests.Response.__new__(requests.Response)
        vars(response).update(self._new_response)
        response.history = []
        response.status_code, response.reason = exchange.status, exchange.reason
        response.headers = LowerCaseHeaders(exchange.headers)
        response.raw = exchange
        response.url, response.request = request.url or "", request
        response.connection = self
        return response

    def _make_route(
        self, url: str, verify: Any, cert: Any, proxies: tuple[tuple[str, str], ...]
    ) -> _Route:
        request = requests.Request("POST", url).prepare()
        pool: Any = self.get_connection_with_tls_context(request, verify, dict(proxies), cert)
        self.cert_verify(pool, url, verify, cert)  # type: ignore[no-untyped-call]
        parsed = parse_url(request.url or url)
        scheme, host = parsed.scheme or "", parsed.host or ""
        port = parsed.port or DEFAULT_PORTS.get(scheme, 0)
        authority = host if port == DEFAULT_PORTS.get(scheme) else f"{host}:{port}"
        headers, target = {"host": authority}, parsed.request_uri
        if pool.proxy is not None and scheme == "http":  # it forwards requests, not connections
            headers.update(pool.proxy_headers)
            target = f"http://{authority}{target}"
        key = (scheme, host, port, verify, cert, pool.proxy)
        opened = functools.partial(open_socket, pool, f"{scheme}://{authority}/")
        return _Route(target, headers, self._connections.idle(key), opened)


def _message(request: requests.PreparedRequest, route: _Route) -> bytes:
    headers = request.headers
    lower = headers.lower if isinstance(headers, LowerCaseHeaders) else dict(headers.lower_items())
    body = request.body or b""
    if not isinstance(body, bytes):
        raise TypeError("the body of a request must be bytes")
    return request_bytes(request.method or "GET", route.target, {**route.headers, **lower}, body)


def _converse(
    request: requests.PreparedRequest, exchange: Exchange, message: bytes, read_s: float | None
) -> None:
    """Send a request and wait for the headers of its response."""
    try:
        if not (isinstance(request, OutgoingRequest) and request.begin(exchange)):
            exchange.set_timeout(read_s)
        exchange.send(message)
        exchange.read_head()
    except requests.RequestException:
        raise
    except OSError as exc:
        raise requests.ConnectionError(exc, request=request) from exc
