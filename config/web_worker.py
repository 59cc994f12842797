"""The worker of the web process: gunicorn's gevent worker, which leaves in order.

Asked to leave, it stops accepting, lets the requests under way go on for the grace time, has the
application cut the rest, and has everything recorded. Loaded by gunicorn alone.
"""

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gevent
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn.http import wsgi
from gunicorn.http.errors import (
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.sock import ssl_context
from gunicorn.workers.base_async import AsyncWorker
from gunicorn.workers.ggevent import GeventWorker

from app.sockets import peek
from config.web_response import OnePacketResponse

#: The last seconds of gunicorn's graceful_timeout, after which the arbiter kills: callers are told
#: that they are cut, and what they used is recorded. CUT_S for those that read what they are sent.
SETTLING_S = 8.0
CUT_S = 4.0
KILL_S = 2.0

#: How often the worker looks whether it is to leave, in seconds.
TICK_S = 0.1

#: A connection may carry a request at any moment. Leaving, we close it when it has not done so for
#: this long, in seconds; what arrives sooner is answered, with `connection: close`.
IDLE_S = 1.0

#: What the system holds of what a caller has not read yet, in bytes (Linux doubles it).
SEND_BUFFER_BYTES = 128 * 1024

#: What a request that is no HTTP is answered with; anything else is 400.
STATUSES = {LimitRequestLine: "414 URI Too Long", LimitRequestHeaders: "431 Header Too Large"}


# Its worker asks for no class; this is where it looks for one.
wsgi.Response = OnePacketResponse


class WebWorker(GeventWorker):  # type: ignore[misc]
    """One web process."""

    alive: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._grace_s = max(0.0, self.cfg.graceful_timeout - SETTLING_S)
        self._connections: dict[gevent.Greenlet, socket.socket] = {}
        self._waiting_since_s: dict[socket.socket, float] = {}

    def run(self) -> None:
        """Serve until told to leave; return when every request has ended and is recorded."""
        servers = [self._serve(listener) for listener in self.sockets]
        services = self._services()
        if services is not None:
            gevent.spawn(services.alarms.check)  # its log lines are for whoever deploys
        try:
            while self.alive:
                self.notify()
                gevent.sleep(TICK_S)
            for server in servers:
                server.close()
            self._finish([server.pool for server in servers])
        finally:
            if services is not None:
                services.accounting.close()

    def notify(self) -> None:
        """Give the arbiter a sign of life; without an arbiter, leave."""
        self.tmp.notify()
        if self.alive and self.ppid != os.getppid():
            self.log.warning("The arbiter is gone; leaving")
            self.alive = False

    def handle_quit(self, *_: object) -> None:
        """Leave without delay (SIGINT, SIGQUIT): requests are cut, and recorded."""
        self._grace_s = 0.0
        self.alive = False

    def handle(self, listener: Any, client: socket.socket, addr: Any) -> None:
        """Serve one connection."""
        greenlet = gevent.getcurrent()
        self._connections[greenlet] = client
        try:
            super().handle(listener, client, addr)
        finally:
            del self._connections[greenlet]

    @contextlib.contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Limit the wait for a connection's next request."""
        client = self._connections[gevent.getcurrent()]
        self._waiting_since_s[client] = time.monotonic()
        try:
            with gevent.Timeout(self.cfg.keepalive, False):
                yield
        finally:
            del self._waiting_since_s[client]

    def handle_request(self, *args: Any) -> Any:
        """Answer one request; when its greenlet is killed, the connection ends with it."""
        try:
            # Not GeventWorker's, which would wait for another request on the broken connection.
            return AsyncWorker.handle_request(self, *args)
        except gevent.GreenletExit:
            raise StopIteration from None

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer what is no HTTP. The log says what kind of thing it was, and not what was in it:
        a broken header may hold a key.
        """
        ours = isinstance(exc, InvalidResponseHeader | InvalidResponseHeaderName)
        if ours or not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("A request was no HTTP: %s", type(exc).__name__)
        with contextlib.suppress(OSError):  # it may have left
            client.sendall(_refusal(STATUSES.get(type(exc), "400 Bad Request")))

    def _serve(self, listener: Any) -> StreamServer:
        listener.setblocking(1)
        # Of each connection that it accepts. The system would let it grow to megabytes, and a
        # vendor write into them for a caller that does not read.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        tls = {"ssl_context": ssl_context(self.cfg)} if self.cfg.is_ssl else {}
        pool = Pool(self.worker_connections)
        server = StreamServer(listener, handle=partial(self.handle, listener), spawn=pool, **tls)
        if self.cfg.workers > 1:
            server.max_accept = 1  # the other workers get their share
        server.start()
        return server

    def _finish(self, pools: list[Pool]) -> None:
        """End what is under way, as gently as the time allows."""

        def is_idle() -> bool:
            return not any(pools)

        self._wait(is_idle, lambda: self._grace_s)
        services = self._services()
        if services is not None:  # also when idle: what callers left behind may still be read on
            services.completer.cut()
        if is_idle():
            return
        self.log.warning("%s connections are cut", sum(map(len, pools)))
        self._wait(is_idle, lambda: CUT_S)
        for pool in pools:  # those whose callers read nothing; each one's end records it
            pool.kill(block=False)
        self._wait(is_idle, lambda: KILL_S)

    def _wait(self, condition: Callable[[], bool], limit_s: Callable[[], float]) -> None:
        """Wait until `condition` holds or `limit_s`, which may shrink meanwhile, is over."""
        started_s = time.monotonic()
        while not condition() and time.monotonic() - started_s < limit_s():
            self.notify()
            self._close_idle_connections()
            gevent.sleep(TICK_S)

    def _close_idle_connections(self) -> None:
        before_s = time.monotonic() - IDLE_S
        for client, since_s in tuple(self._waiting_since_s.items()):
            if since_s < before_s:
                _stop_listening(client)

    def _services(self) -> Any:
        """Return what Tollgate's application works with; the sandbox vendor has no such thing."""
        application = getattr(self, "wsgi", None)
        return getattr(application, "extensions", {}).get("tollgate")


def _stop_listening(client: socket.socket) -> None:
    """Have a connection's reader find its end, unless there is something to read.

    Only the receiving side, and below any TLS: a request that came in just now gets its answer.
    """
    if peek(client) is None:
        plain = socket.socket(fileno=client.fileno())
        try:
            with contextlib.suppress(OSError):  # the caller has closed it
                plain.shutdown(socket.SHUT_RD)
        finally:
            plain.detach()


def _refusal(status: str) -> bytes:
    message = "The request is not valid HTTP."
    error = {"message": message, "type": "invalid_request_error", "param": None}
    body = json.dumps({"error": {**error, "code": "invalid_http"}}).encode()
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
