"""The process' connections to vendors, kept by where they lead.

How a vendor is reached - its name's addresses, TLS, whom to trust, proxies - is read from the
environment and done by requests and urllib3, once a connection; a request needs neither.
"""

import functools
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3.util import parse_url

from app.gateways.http1 import Connection
from app.sockets import peek

#: Distinct addresses whose way is remembered; some vendors have one for each model.
ROUTES_LIMIT = 1024

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Route:
    """The way to one URL: what its request says, and the connections to its host that are free."""

    target: str
    headers: Mapping[str, str] = field(repr=False)
    pool: Any
    free: deque[Connection]


class Connections:
    """Opens connections, and keeps those that can be used again."""

    def __init__(self, env: Mapping[str, str], free_limit: int = 1000) -> None:
        self._adapter = HTTPAdapter(pool_connections=64)
        self._verify = env.get("REQUESTS_CA_BUNDLE") or True
        self._free_limit = free_limit
        self._free: dict[tuple[str, str, int], deque[Connection]] = {}
        weakref.finalize(self, _close_all, self._free.values())
        self.route = functools.lru_cache(ROUTES_LIMIT)(self._route)

    def take(self, route: Route, connect_s: float) -> Connection:
        """Return a connection on which nothing waits: the last one used, or a new one.

        Raises: urllib3's HTTPError, OSError, when there is none within `connect_s` seconds.
        """
        while route.free:
            try:
                connection = route.free.pop()
            except IndexError:  # another thread has it
                break
            if peek(connection.sock) is None:
                return connection
            connection.close()
        return Connection(_connect(route.pool, connect_s))

    def give_back(self, route: Route, connection: Connection) -> None:
        """Keep a connection whose answer was read whole; close any other."""
        if connection.is_reusable and len(route.free) < self._free_limit:
            route.free.append(connection)
        else:
            connection.close()

    def _route(self, url: str) -> Route:
        parsed = parse_url(url)
        scheme, host = parsed.scheme or "", parsed.host or ""
        port = parsed.port or DEFAULT_PORTS.get(scheme, 0)
        proxies = get_environ_proxies(url)
        request = requests.Request("POST", url).prepare()
        pool: Any = self._adapter.get_connection_with_tls_context(request, self._verify, proxies)
        self._adapter.cert_verify(pool, url, self._verify, None)  # type: ignore[no-untyped-call]
        authority = host if port == DEFAULT_PORTS.get(scheme) else f"{host}:{port}"
        headers, target = {"host": authority}, parsed.request_uri
        if pool.proxy is not None and scheme == "http":  # it passes on requests, not connections
            headers.update(pool.proxy_headers)
            target = f"http://{authority}{target}"
        free = self._free.setdefault((scheme, host, port), deque())
        return Route(target, headers, pool, free)


def _close_all(free: Iterable[deque[Connection]]) -> None:
    for connections in free:
        while connections:
            connections.pop().close()


def _connect(pool: Any, connect_s: float) -> Any:
    """Return a connected socket, which waits for as long as it takes from now on."""
    # What urllib3's pools do before a connection's first request; they have no public word for it.
    connection = pool._new_conn()
    connection.timeout = connect_s
    if pool.proxy is not None and pool.scheme == "https":
        pool._prepare_proxy(connection)
    else:
        connection.connect()
    sock = connection.sock
    sock.settimeout(None)
    return sock
