"""Reads a client's input with deadlines, and lets other greenlets run in between.

A read that never has to wait never switches greenlets, so a client that sends fast enough would
have the process to itself. A read without a deadline would hold a connection forever.
"""

import re
import socket
import time
from collections.abc import Callable

import gevent
from gunicorn.http.errors import ParseException
from gunicorn.http.unreader import SocketUnreader

from app.runtime.turns import TURN_S

#: How long the rest of a request's head may take after its first byte, in seconds.
HEAD_S = 15.0
#: The largest head (request line and headers), in bytes.
HEAD_BYTES = 64 * 1024

#: A body may take BODY_S seconds, and one more second per BODY_BYTES_PER_S that have arrived.
BODY_S = 30.0
BODY_BYTES_PER_S = 8 * 1024

#: How long a client may read nothing of a response, in seconds.
SEND_S = 60.0

#: After this many bytes, other greenlets run. Chunked bodies are the most expensive: this many
#: bytes take about ten milliseconds if each chunk holds one byte.
TURN_BYTES = 16 * 1024

#: A client that sends byte by byte wakes the process for each byte. After SMALL_READS reads of
#: fewer than SMALL_BYTES in a row, each read first waits SMALL_WAIT_S, and then finds more.
SMALL_BYTES = 512
SMALL_READS = 16
SMALL_WAIT_S = 0.02

_RECV_BYTES = 8 * 1024
_HEAD_END = re.compile(rb"\n\r?\n")


#: What a TLS connection begins with: the type of its first record, a handshake.
_TLS = b"\x16"


class TLSOnPlainPort(ParseException):  # type: ignore[misc]
    """A client speaks TLS to a port without. It would wait for an answer until a time-out."""


class Reader(SocketUnreader):  # type: ignore[misc]
    """The receiving side of one connection. Every read may raise TimeoutError."""

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
        if self.begun:  # a pipelined request: reading it does not wait
            gevent.sleep(TURN_S)

    def wait_for_body(self) -> None:
        """Read a request's body from now on."""
        self._in_head, self._bytes_per_s = False, BODY_BYTES_PER_S
        self._until_s = time.monotonic() + BODY_S

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Return the next input, b"" at the end; while a head is read, all that is left of it."""
        if self._in_head:
            return self._head()
        self._body_waits()
        return self._receive(min(max(size_hint or 0, self.mxchunk), self.max_body_chunk))

    def _head(self) -> bytes:
        """Return the rest of a head at once, because gunicorn parses it from its start each time.

        Input that has no end within HEAD_BYTES is returned for gunicorn to reject.
        """
        pieces, size, tail = [], 0, self._tail[-3:]
        while True:
            data = self._receive(_RECV_BYTES)
            if data and not self.begun:
                self.begun, self._until_s = True, time.monotonic() + HEAD_S
                if data.startswith(_TLS):
                    raise TLSOnPlainPort
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
