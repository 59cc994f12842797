"""One connection and its requests, and which connections are closed when the process is full."""

import contextlib
import socket
import time
from typing import Any

import gevent
from gunicorn.http.errors import NoMoreData

from app.runtime.sockets import end_receiving, peek, shut_down
from app.server.close import discard_and_close, reset, unsent
from app.server.reader import HEAD_S, SEND_S, Reader
from app.server.rejection import reject
from app.server.request import WebRequest

#: At shutdown, a connection without a request is closed when it has been idle for this long, in
#: seconds. A request that arrives earlier is served, with `connection: close`.
IDLE_S = 1.0

#: How long a new connection may wait for the first byte of a request, in seconds.
FIRST_S = 75.0

#: The share of the connections above which idle connections are closed to make room for new ones.
FULL = 0.9

#: Above that share, clients that read nothing of a response for this long are disconnected, in
#: seconds.
STALLED_S = 10.0
_SWEEP_S = 1.0


class Connection:
    """One connection and its current request."""

    def __init__(self, cfg: Any, client: socket.socket, addr: Any, tls: Any) -> None:
        """Serve `client`, which connects from `addr`; `tls` is an SSL context or None."""
        self.sock = client
        self.request: WebRequest | None = None
        self.served = 0
        self.waits_since_s = 0.0
        self._cfg = cfg
        self._addr = addr
        self._tls = tls
        self._unsent = 0
        self._stalled_since_s = 0.0
        self._reader: Reader | None = None
        #: The code of the error that input got which is not an HTTP request.
        self.rejection: str | None = None
        self._is_rejected = False

    def next_request(self, connections: "Connections") -> WebRequest | None:
        """Wait for the next request; return None if the connection has ended or timed out.

        Raises: OSError if the connection breaks, ParseException if its input is not valid HTTP.
        """
        connections.wait(self)
        try:
            self.request = self._read_request(connections)
        except (NoMoreData, StopIteration):
            return None
        except TimeoutError as exc:
            if self._reader is not None and self._reader.begun:
                self._is_rejected = True
                self.rejection = reject(self.sock, exc)
            return None
        except Exception:
            self._is_rejected = True
            raise
        finally:
            connections.stop_waiting(self)
        self.served += 1
        connections.serve(self)
        return self.request

    def close(self) -> None:
        """Close the connection in the way that its last response needs."""
        request, self.request, self._reader = self.request, None, None  # they refer to this object
        response = request.response if request is not None else None
        is_truncated = response is not None and response.is_truncated
        if not is_truncated and not self._may_receive_more(request):
            self.sock.close()
            return
        with contextlib.suppress(OSError, ValueError):  # already closed
            self.sock = socket.socket(fileno=self.sock.detach())  # below TLS
            (reset if is_truncated else discard_and_close)(self.sock)

    def is_stalled(self, now_s: float) -> bool:
        """Whether the client has read no pending byte for STALLED_S; call it regularly."""
        pending = unsent(self.sock)
        if pending == 0 or pending != self._unsent:
            self._unsent, self._stalled_since_s = pending, now_s
        return now_s - self._stalled_since_s > STALLED_S

    def _read_request(self, connections: "Connections") -> WebRequest:
        reader = self._ready(connections)
        reader.wait_for_request(self._cfg.keepalive if self.served else FIRST_S)
        number = self.served + 1
        return WebRequest(
            self._cfg, reader, self._addr, number, lambda: connections.stop_waiting(self)
        )

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

    def _may_receive_more(self, request: WebRequest | None) -> bool:
        """Whether the client got its response before all of its input was read."""
        if self._is_rejected:
            return True
        is_read = request is None or request.is_read()
        return not is_read or peek(self.sock) not in (None, b"")


class Connections:
    """All connections of the process; the least useful one is closed to make room for a new one.

    They are closed in this order: connections that are already closing; those without a first
    request; those whose request's body has not arrived yet; and idle ones that are kept alive.
    Within a group, the one that has been in it for the longest time is closed first.
    """

    def __init__(self, limit: int) -> None:
        self._full = int(limit * FULL)
        self._count = 0
        self._closing: dict[Connection, None] = {}
        self._fresh: dict[Connection, None] = {}
        self._sending: dict[Connection, None] = {}
        self._kept_alive: dict[Connection, None] = {}
        self._serving: dict[Connection, None] = {}
        self._swept_s = 0.0

    def make_room(self) -> None:
        """Count a new connection; if the process is full, close another one."""
        self._count += 1
        if self._count > self._full:
            groups = (self._closing, self._fresh, self._sending, self._kept_alive)
            oldest = next((next(iter(group)) for group in groups if group), None)
            if oldest is not None:
                self._forget(oldest)
                shut_down(oldest.sock)  # which wakes the greenlet that reads it

    def wait(self, connection: Connection) -> None:
        """Record that a connection waits for a request."""
        connection.waits_since_s = time.monotonic()
        self._serving.pop(connection, None)
        (self._kept_alive if connection.served else self._fresh)[connection] = None

    def serve(self, connection: Connection) -> None:
        """Record that a connection's request is being served."""
        self._serving[connection] = None

    def disconnect_stalled(self) -> None:
        """If the process is full, disconnect clients that do not read; call it often."""
        now_s = time.monotonic()
        if self._count <= self._full or now_s - self._swept_s < _SWEEP_S:
            return
        self._swept_s = now_s
        for connection in tuple(self._serving):
            if connection.is_stalled(now_s):
                shut_down(connection.sock)

    def wait_for_body(self, connection: Connection) -> None:
        """Record that a request has started, and that its body is incomplete."""
        self._sending.setdefault(connection)

    def stop_waiting(self, connection: Connection) -> None:
        """Record that a connection waits neither for a request nor for a body."""
        (self._kept_alive if connection.served else self._fresh).pop(connection, None)
        self._sending.pop(connection, None)

    def close(self, connection: Connection) -> None:
        """Close a connection and forget it."""
        self._forget(connection)
        self._closing[connection] = None
        gevent.sleep(0)  # if thousands end at once, this lets other greenlets run in between
        try:
            connection.close()
        finally:
            self._count -= 1
            self._closing.pop(connection, None)
        self._serving.pop(connection, None)

    def close_idle(self) -> None:
        """At shutdown, end the connections that have been idle for IDLE_S."""
        before_s = time.monotonic() - IDLE_S
        for connection in (*self._fresh, *self._kept_alive):
            if connection.waits_since_s < before_s and peek(connection.sock) is None:
                # Only the receiving side, below TLS: its reader finds the end of the input.
                end_receiving(connection.sock)
        for connection in tuple(self._closing):
            shut_down(connection.sock)

    def _forget(self, connection: Connection) -> None:
        self.stop_waiting(connection)
        self._closing.pop(connection, None)
        self._serving.pop(connection, None)
