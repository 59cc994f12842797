"""What a caller sends, read against a deadline, with a turn for the others in between.

A read that never has to wait never lets another greenlet run, so whoever sends fast enough would
have the process for himself; and one that waits without a deadline holds a connection for ever.
Loaded by gunicorn alone.
"""

import re
import socket
import time
from collections.abc import Callable

import gevent
from gunicorn.http.unreader import SocketUnreader

from app.runtime.turns import TURN_S

#: How long the rest of a request's head may take once its first byte is here, in seconds.
HEAD_S = 15.0
#: The largest head, in bytes: its request line and all its headers.
HEAD_BYTES = 64 * 1024

#: A body may take BODY_S seconds, and a second more for each BODY_BYTES_PER_S that have arrived.
BODY_S = 30.0
BODY_BYTES_PER_S = 8 * 1024

#: How long a caller may take nothing of what it is sent, in seconds.
SEND_S = 60.0

#: After so many bytes the other greenlets get their turn. Bytes of a chunked body are the dearest:
#: these take some ten milliseconds when each chunk holds one.
TURN_BYTES = 16 * 1024

#: Who sends byte by byte wakes us for each: from so many small reads on, each waits a little, and
#: finds more.
SMALL_BYTES = 512
SMALL_READS = 16
SMALL_WAIT_S = 0.02

_RECV_BYTES = 8 * 1024
_HEAD_END = re.compile(rb"\n\r?\n")


class Reader(SocketUnreader):  # type: ignore[misc]
    """The receiving side of one connection; every read may raise TimeoutError."""

    def __init__(self, sock: socket.socket, body_waits: Callable[[], None]) -> None:
        """Read `sock`; `body_waits` is called before each wait for more of a body."""
        super().__init__(sock)
        self._body_waits = body_waits
        self.begun = False
        self._in_head = False
        self._until_s = 0.0
        self._bytes_per_s = 0
        self._since_turn = 0
        self._small_reads = 0
        self._tail = b""

    def wait_for_request(self, idle_s: float) -> None:
        """Read a request's head from now on; its first byte may take `idle_s` seconds."""
        self._in_head, self._bytes_per_s = True, 0
        self._small_reads = 0
        self._tail = self.buf.getvalue()
        self.begun = bool(self._tail)
        self._until_s = time.monotonic() + (HEAD_S if self.begun else idle_s)
        if self.begun:  # sent ahead, so that nothing had to be waited for
            gevent.sleep(TURN_S)

    def wait_for_body(self) -> None:
        """Read a request's body from now on."""
        self._in_head, self._bytes_per_s = False, BODY_BYTES_PER_S
        self._until_s = time.monotonic() + BODY_S

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Return what arrives next, b"" at the end; of a head, all of it that is to come."""
        if self._in_head:
            return self._head()
        self._body_waits()
        return self._receive(min(max(size_hint or 0, self.mxchunk), self.max_body_chunk))

    def _head(self) -> bytes:
        """Return the rest of a head at once: it is searched for its end from its beginning."""
        pieces, size, tail = [], 0, self._tail[-3:]
        while True:
            data = self._receive(_RECV_BYTES)
            if data and not self.begun:
                self.begun, self._until_s = True, time.monotonic() + HEAD_S
            pieces.append(data)
            size, tail = size + len(data), tail + data
            if not data or size > HEAD_BYTES or _HEAD_END.search(tail):
                self._tail = tail
                return b"".join(pieces)
            tail = tail[-3:]

    def _receive(self, size: int) -> bytes:
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the request takes too long to arrive")
        if self._small_reads > SMALL_READS:
            gevent.sleep(SMALL_WAIT_S)
        self.sock.settimeout(left_s)
        try:
            data: bytes = self.sock.recv(size)
        finally:
            self.sock.settimeout(SEND_S)
        if self._bytes_per_s:
            self._until_s += len(data) / self._bytes_per_s
        self._small_reads = self._small_reads + 1 if len(data) < SMALL_BYTES else 0
        self._since_turn += len(data)
        if self._since_turn >= TURN_BYTES:
            self._since_turn = 0
            gevent.sleep(TURN_S)
        return data
