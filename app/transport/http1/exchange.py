"""One request and its response on a connection, as a client.

An `Exchange` is the `raw` of a `requests.Response`: it has the methods of urllib3's responses that
requests and `app.transport.call` use. Does not open connections. Read `response_parser` next.
"""

import threading
from collections.abc import Iterator
from http.client import responses
from typing import Any, Protocol

import requests

from app.runtime.sockets import send_all, send_while, shut_down
from app.transport.http1.connection import Connection
from app.transport.http1.content_coding import codings_in, decoded
from app.transport.http1.errors import BadHTTP, BrokenResponse
from app.transport.http1.response_parser import ResponseParser

#: Most bytes that are read at once.
PACKET_BYTES = 64 * 1024

#: Most bytes of a response's status line and headers.
HEAD_LIMIT = 256 * 1024

#: A request of up to this many bytes is sent at once; while a larger one is sent, the vendor may
#: already respond.
ONE_PIECE = 64 * 1024

# One lock for all exchanges: each takes it twice, for a moment.
_LOCK = threading.Lock()


class Release(Protocol):
    """Takes a connection back that can be used again; `hint` is its `keep-alive` header."""

    def __call__(self, connection: Connection, hint: str | None, /) -> None: ...


class Exchange:
    """Sends one request and reads its response; another thread may shut it down."""

    def __init__(self, connection: Connection, release: Release) -> None:
        self._connection: Connection | None = connection
        self._release = release
        self._parser = connection.parser
        self._parser.begin()
        self._send_error: OSError | None = None
        self._is_shut_down = self._has_timeout = False
        #: The connected socket, until the exchange is closed.
        self.sock = connection.sock
        #: Whether the vendor may have received the whole request.
        self.has_sent = False
        #: The response's HTTP status; 0 before it is known.
        self.status = 0
        #: The response's headers by name in lower case; repeated ones are joined with a comma.
        self.headers: dict[str, str] = {}

    @property
    def reason(self) -> str:
        """The usual words for the status."""
        return responses.get(self.status, "")

    @property
    def is_reusable(self) -> bool:
        """Whether another request may follow: this response was read whole, and both sides stay."""
        parser = self._parser
        return (
            parser.is_complete
            and parser.keeps_alive
            and self.has_sent
            and not parser.pieces
            and not self._is_shut_down
        )

    def set_timeout(self, read_s: float | None) -> None:
        """Limit each wait for the vendor, in seconds; None for no limit, which is the default."""
        self._has_timeout = read_s is not None
        self.sock.settimeout(read_s)

    def send(self, request: bytes) -> None:
        """Send the request.

        An error is kept for `read_head`: a vendor may respond, and close the connection, before it
        has received the whole request.
        """
        try:
            if len(request) <= ONE_PIECE:
                self.has_sent = True
                send_all(self.sock, request)
            else:
                self.has_sent = send_while(self.sock, request, self._may_send_on)
        except OSError as exc:
            self.has_sent, self._send_error = False, exc

    def read_head(self) -> None:
        """Wait for the final status and headers.

        An error status counts even if the rest of the head is unreadable: the body is then empty.
        Raises: OSError (BrokenResponse, if the vendor responded).
        """
        parser, received = self._parser, 0
        try:
            while not parser.has_head:
                received += self._read()
                if not parser.has_head:
                    _check_head(parser, received)
        except OSError as exc:
            if not parser.end_at_status():
                if isinstance(exc, BrokenResponse):
                    exc.status = parser.known_status
                if self._send_error is not None:
                    raise self._send_error from exc
                raise
        self.status, self.headers = parser.status, parser.headers

    def read1(self, amt: int | None = None) -> bytes:
        """Return the next bytes of the body as soon as there are any, without their chunks.

        At most `amt` bytes; b"" at the end, and once the exchange is closed. All that came before
        an error is returned before the error is raised. Content codings are left as they are.
        Raises: OSError.
        """
        parser = self._parser
        while not parser.pieces:
            if parser.is_complete:
                return b""
            if parser.failure is not None:
                raise parser.failure
            self._read()
        packet = parser.take()
        if amt is not None and 0 <= amt < len(packet):
            parser.pieces.append(packet[amt:])
            return packet[:amt]
        return packet

    def stream(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
        """Yield the body as it arrives, decoded if `decode_content`, and close the exchange.

        requests calls this. `amt` is ignored: what has arrived does not wait for more.
        Raises: requests.ConnectionError.
        """
        del amt
        codings = codings_in(self.headers) if decode_content else ""
        try:
            yield from decoded(packets(self), codings) if codings else packets(self)
        except BrokenResponse:
            raise
        except OSError as exc:
            raise requests.ConnectionError(exc) from exc
        finally:
            self.close()

    def shutdown(self) -> None:
        """Shut the connection down, from any thread: a read that waits on it ends at once."""
        with _LOCK:
            self._is_shut_down = True
            if self._connection is not None:
                shut_down(self._connection.sock)

    def close(self) -> None:
        """Return the connection to its pool if the response was read whole; otherwise close it."""
        with _LOCK:
            connection, self._connection = self._connection, None
        if connection is None:
            return
        is_reusable, self._parser = self.is_reusable, _CLOSED
        if not is_reusable:
            connection.close()
            return
        if self._has_timeout:
            connection.sock.settimeout(None)
        self._release(connection, self.headers.get("keep-alive"))

    def _may_send_on(self, early: bytes) -> bool:
        """Parse what the vendor sends before it has the whole request; return whether to go on."""
        parser = self._parser
        if early:
            parser.feed(early)
        return (
            bool(early) and parser.failure is None and (not parser.has_head or parser.status < 300)
        )

    def _read(self) -> int:
        data = self.sock.recv(PACKET_BYTES)
        if data:
            self._parser.feed(data)
        else:
            self._parser.feed_end()
        return len(data)


def _check_head(parser: ResponseParser, received: int) -> None:
    if parser.failure is not None:
        raise parser.failure
    if received > HEAD_LIMIT:
        raise BadHTTP("sent a response that is not valid HTTP: its headers are too large")


#: Read from once an exchange is closed: its connection may already serve the next one.
_CLOSED = ResponseParser()
_CLOSED.is_complete = True


def packets(raw: Any) -> Iterator[bytes]:
    """Yield the body of a response as it arrives, its content codings left as they are.

    `raw` is an Exchange or one of urllib3's responses. All that came before an error is yielded
    before the error is raised.
    Raises: OSError, urllib3's HTTPError.
    """
    read1 = raw.read1
    while packet := read1(PACKET_BYTES):
        yield packet
