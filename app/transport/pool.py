"""The process' connections to vendors, kept by where they lead.

How a vendor is reached - TLS, whom to trust, proxies - is read from the environment and done by
requests and urllib3, once a connection; a request needs neither.
"""

import functools
import re
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util import parse_url

from app.runtime.sockets import peek
from app.transport.dialing import dial
from app.transport.dns import Resolver
from app.transport.http1.connection import Connection
from app.transport.trust import Trust, trust_in

#: A free connection is closed after this long without use, in seconds. Load balancers forget one
#: without telling either side, the usual ones after 240 s or more.
IDLE_LIMIT_S = 200.0

#: No connection is used longer than this, in seconds, so that a change of a vendor's DNS is seen.
AGE_LIMIT_S = 300.0

#: How often connections that nobody takes are looked through, in seconds.
SWEEP_S = 30.0

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

    @property
    def is_proxied(self) -> bool:
        """Whether connections are opened to a proxy."""
        return self.pool.proxy is not None


class Connections:
    """Opens connections, and keeps those that can be used again."""

    def __init__(
        self,
        env: Mapping[str, str],
        free_limit: int = 1000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._adapter = HTTPAdapter(pool_connections=64)
        self._env = env
        self._free_limit = free_limit
        self._clock = clock
        self._resolver = Resolver()
        self._swept_at_s = clock()
        self._free: dict[tuple[str, str, int], deque[Connection]] = {}
        weakref.finalize(self, _close_all, self._free.values())
        self.route = functools.lru_cache(ROUTES_LIMIT)(self._route)

    def take(self, route: Route, connect_s: float) -> Connection:
        """Return a connection on which nothing waits: the last one used, or a new one.

        `connect_s` is for all of it: looking the host up, connecting, and TLS.
        Raises: urllib3's HTTPError, OSError, when there is none within `connect_s` seconds.
        """
        while route.free:
            try:
                connection = route.free.pop()
            except IndexError:  # another thread has it
                break
            if peek(connection.sock) is None and not self._is_old(connection, self._clock()):
                return connection
            connection.close()
        connection = Connection(_connect(route.pool, connect_s, self._resolver))
        connection.opened_at_s = self._clock()
        return connection

    def give_back(self, route: Route, connection: Connection) -> None:
        """Keep a connection whose answer was read whole; close any other."""
        if connection.is_reusable and len(route.free) < self._free_limit:
            now_s = connection.idle_since_s = self._clock()
            hint = connection.headers.get("keep-alive")
            connection.idle_limit_s = _idle_limit_s(hint) if hint else IDLE_LIMIT_S
            route.free.append(connection)
            if now_s - self._swept_at_s >= SWEEP_S:
                self._sweep(now_s)
        else:
            connection.close()

    def _sweep(self, now_s: float) -> None:
        """Close the connections that have not been used for too long."""
        self._swept_at_s = now_s
        for free in tuple(self._free.values()):
            while free:
                try:
                    connection = free.popleft()  # the one that was used least recently
                except IndexError:  # another thread has it
                    break
                if not self._is_old(connection, now_s):
                    free.appendleft(connection)
                    break
                connection.close()

    @staticmethod
    def _is_old(connection: Connection, now_s: float) -> bool:
        return (
            now_s - connection.idle_since_s >= connection.idle_limit_s
            or now_s - connection.opened_at_s >= AGE_LIMIT_S
        )

    def _route(self, url: str) -> Route:
        parsed = parse_url(url)
        scheme, host = parsed.scheme or "", parsed.host or ""
        port = parsed.port or DEFAULT_PORTS.get(scheme, 0)
        proxies = get_environ_proxies(url)
        request = requests.Request("POST", url).prepare()
        trust = trust_in(self._env) if scheme == "https" else Trust()
        pool: Any = self._adapter.get_connection_with_tls_context(request, trust.verify, proxies)
        self._adapter.cert_verify(pool, url, trust.verify, None)  # type: ignore[no-untyped-call]
        if trust.directory is not None:
            pool.ca_cert_dir = trust.directory
        authority = host if port == DEFAULT_PORTS.get(scheme) else f"{host}:{port}"
        headers, target = {"host": authority}, parsed.request_uri
        if pool.proxy is not None and scheme == "http":  # it passes on requests, not connections
            headers.update(pool.proxy_headers)
            target = f"http://{authority}{target}"
        free = self._free.setdefault((scheme, host, port), deque())
        return Route(target, headers, pool, free)


_TIMEOUT = re.compile(r"timeout\s*=\s*\"?(\d{1,6})", re.ASCII | re.IGNORECASE)


def _idle_limit_s(hint: str) -> float:
    """Return how long a connection may wait, by its last answer's `keep-alive: timeout=5`.

    A second less than the vendor waits: a request that crosses its close would be lost.
    """
    found = _TIMEOUT.search(hint)
    return min(IDLE_LIMIT_S, max(0.0, int(found[1]) - 1.0)) if found else IDLE_LIMIT_S


def _close_all(free: Iterable[deque[Connection]]) -> None:
    for connections in free:
        while connections:
            connections.pop().close()


def _connect(pool: Any, connect_s: float, resolver: Resolver) -> Any:
    """Return a connected socket, which waits for as long as it takes from now on."""
    # What urllib3's pools do before a connection's first request; they have no public word for it.
    connection = pool._new_conn()
    connection.timeout = connect_s
    if type(connection) in (HTTPConnection, HTTPSConnection):  # not by SOCKS
        connection._new_conn = lambda: dial(
            resolver, connection._dns_host, connection.port, connect_s, connection.socket_options
        )
    try:
        if pool.proxy is not None and pool.scheme == "https":
            pool._prepare_proxy(connection)
        else:
            connection.connect()
    except BaseException:
        connection.close()
        raise
    sock = connection.sock
    sock.settimeout(None)
    return sock
