"""Connections: one request after the other on each, and which of them make room when all is full.

Loaded by gunicorn alone.
"""

import contextlib
import json
import socket
import ssl
import time
from typing import Any

import gevent
from gunicorn.http.errors import (
    ExpectationFailed,
    LimitRequestHeaders,
    LimitRequestLine,
    NoMoreData,
)

from app.runtime.sockets import end_receiving, peek, shut_down
from app.server.close import drain_and_close, reset, unsent
from app.server.reader import HEAD_S, SEND_S, Reader
from app.server.request import WebRequest

#: A connection may carry a request at any moment. Leaving, we close it when it has not done so for
#: this long, in seconds; what arrives sooner is answered, with `connection: close`.
IDLE_S = 1.0

#: How long a new connection may wait for the first byte of a request, in seconds.
FIRST_S = 75.0

#: The share of the connections above which those that carry no request make room for new ones.
FULL = 0.9

#: When it is full, a caller that takes nothing of its answer for this long is cut off, in seconds.
DEAF_S = 10.0
_SWEEP_S = 1.0

#: What a request that is no HTTP, or does not arrive, is answered with: status, code and message.
_BROKEN = ("400 Bad Request", "invalid_http", "The request is not valid HTTP.")
_REFUSALS = {
    ExpectationFailed: ("417 Expectation Failed", "invalid_http", "`expect` is not understood."),
    LimitRequestLine: ("414 URI Too Long", "invalid_http", "The request's line is too long."),
    LimitRequestHeaders: (
        "431 Request Header Fields Too Large",
        "invalid_http",
        "The request's headers are too large.",
    ),
    TimeoutError: (
        "408 Request Timeout",
        "request_timeout",
        f"The request's head was not complete within {HEAD_S:g} s.",
    ),
}


class Connection:
    """One connection, and the request that it carries."""

    def __init__(self, cfg: Any, client: socket.socket, addr: Any, tls: Any) -> None:
        self.sock = client
        self.request: WebRequest | None = None
        self.served = 0
        self.waits_since_s = 0.0
        self._cfg = cfg
        self._addr = addr
        self._tls = tls
        self._unsent = 0
        self._deaf_since_s = 0.0
        self._reader: Reader | None = None
        self._is_refused = False

    def next_request(self, connections: "Connections") -> WebRequest | None:
        """Wait for the next request; return None when none is to come.

        Raises: OSError when the connection breaks, ParseException when it carries no HTTP.
        """
        connections.wait(self)
        try:
            reader = self._ready(connections)
            reader.wait_for_request(self._cfg.keepalive if self.served else FIRST_S)
            self.request = WebRequest(
                self._cfg,
                reader,
                self._addr,
                self.served + 1,
                lambda: connections.go_on(self),
            )
        except (NoMoreData, StopIteration):
            return None
        except TimeoutError as exc:
            if self._reader is not None and self._reader.begun:
                self._is_refused = True
                refuse(self.sock, exc)
            return None
        except Exception:
            self._is_refused = True
            raise
        finally:
            connections.go_on(self)
        self.served += 1
        connections.serve(self)
        return self.request

    def close(self) -> None:
        """End the connection in the way that its last answer needs."""
        request, self.request, self._reader = self.request, None, None  # they hold us in turn
        response = request.response if request is not None else None
        is_broken_off = response is not None and response.is_broken_off
        if not is_broken_off and not self._may_send_more(request):
            self.sock.close()
            return
        with contextlib.suppress(OSError, ValueError):  # closed already
            self.sock = socket.socket(fileno=self.sock.detach())  # without its TLS, if it has some
            (reset if is_broken_off else drain_and_close)(self.sock)

    def is_deaf(self, now_s: float) -> bool:
        """Whether the caller has taken nothing of what waits for it for DEAF_S; asked regularly."""
        waits = unsent(self.sock)
        if waits == 0 or waits != self._unsent:
            self._unsent, self._deaf_since_s = waits, now_s
        return now_s - self._deaf_since_s > DEAF_S

    def _ready(self, connections: "Connections") -> Reader:
        if self._reader is None:
            if self._tls is not None:
                self.sock.settimeout(HEAD_S)
                self.sock = self._tls.wrap_socket(
                    self.sock, server_side=True, do_handshake_on_connect=False
                )
                self.sock.do_handshake()  # type: ignore[attr-defined]
            self.sock.settimeout(SEND_S)
            self._reader = Reader(self.sock, lambda: connections.wait_for_body(self))
        return self._reader

    def _may_send_more(self, request: WebRequest | None) -> bool:
        """Whether the caller has been answered before all that it sends was read."""
        if self._is_refused:
            return True
        is_read = request is None or request.is_read()
        return not is_read or peek(self.sock) not in (None, b"")


class Connections:
    """All connections of the process, of which some make room when it is full.

    First those that are being closed; then those without an answer yet, whose callers open
    connections and say nothing, or half a request; then those whose request's body is still to
    come; then those that were kept. Of each kind, the one that has been so for the longest time.
    """

    def __init__(self, limit: int) -> None:
        self._full = int(limit * FULL)
        self._count = 0
        self._closing: dict[Connection, None] = {}
        self._fresh: dict[Connection, None] = {}
        self._sending: dict[Connection, None] = {}
        self._kept: dict[Connection, None] = {}
        self._serving: dict[Connection, None] = {}
        self._swept_s = 0.0

    def make_room(self) -> None:
        """Take note of a new connection, and make room for it."""
        self._count += 1
        if self._count > self._full:
            kinds = (self._closing, self._fresh, self._sending, self._kept)
            oldest = next((next(iter(kind)) for kind in kinds if kind), None)
            if oldest is not None:
                self._forget(oldest)
                shut_down(oldest.sock)  # which wakes whoever reads it

    def wait(self, connection: Connection) -> None:
        """Take note that a connection waits for a request."""
        connection.waits_since_s = time.monotonic()
        self._serving.pop(connection, None)
        (self._kept if connection.served else self._fresh)[connection] = None

    def serve(self, connection: Connection) -> None:
        """Take note that a connection carries a request."""
        self._serving[connection] = None

    def cut_deaf(self) -> None:
        """When it is full, cut off callers that take nothing of their answers; called often."""
        now_s = time.monotonic()
        if self._count <= self._full or now_s - self._swept_s < _SWEEP_S:
            return
        self._swept_s = now_s
        for connection in tuple(self._serving):
            if connection.is_deaf(now_s):
                shut_down(connection.sock)

    def wait_for_body(self, connection: Connection) -> None:
        """Take note that a request has begun, and not all of its body is here."""
        self._sending.setdefault(connection)

    def go_on(self, connection: Connection) -> None:
        """Take note that a connection waits for nothing more."""
        (self._kept if connection.served else self._fresh).pop(connection, None)
        self._sending.pop(connection, None)

    def _forget(self, connection: Connection) -> None:
        self.go_on(connection)
        self._closing.pop(connection, None)
        self._serving.pop(connection, None)

    def close(self, connection: Connection) -> None:
        """End a connection."""
        self._forget(connection)
        self._closing[connection] = None
        gevent.sleep(0)  # thousands may end in one moment: this spreads them over several
        try:
            connection.close()
        finally:
            self._count -= 1
            self._closing.pop(connection, None)
        self._serving.pop(connection, None)

    def close_idle(self) -> None:
        """Have those end that have carried nothing for a while: the process leaves."""
        before_s = time.monotonic() - IDLE_S
        for connection in (*self._fresh, *self._kept):
            if connection.waits_since_s < before_s:
                _stop_listening(connection.sock)
        for connection in tuple(self._closing):
            shut_down(connection.sock)


def refuse(client: socket.socket, exc: BaseException) -> None:
    """Answer what is no HTTP, or has not arrived."""
    status, code, message = _REFUSALS.get(type(exc), _BROKEN)
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    body = json.dumps({"error": error}).encode()
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    with contextlib.suppress(OSError, ssl.SSLError):  # it may have left
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)


def _stop_listening(client: socket.socket) -> None:
    """Have a connection's reader find its end, unless there is something to read.

    Only the receiving side, and below any TLS: a request that came in just now gets its answer.
    """
    if peek(client) is None:
        end_receiving(client)
