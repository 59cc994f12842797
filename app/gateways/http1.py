"""HTTP/1.1 as a client: a request out, the head and the packets of its answer back.

llhttp parses, by httptools; this keeps what it finds. Knows neither addresses nor TLS: it is given
a connected socket. `http.client` reads an answer line by line, at five times the cost.
Source: RFC 9112.
"""

import socket
import zlib
from collections.abc import Iterator, Mapping

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from app.sockets import send_all

#: Most that is read at once, in bytes.
PACKET_BYTES = 64 * 1024

#: Most that an answer's status line and headers may take, in bytes.
HEAD_LIMIT = 256 * 1024

#: Statuses whose answers end with their headers.
BODILESS = (204, 304)


class BrokenAnswer(OSError):
    """The answer is no HTTP, or ended before it was complete."""


class Connection:
    """One connection, for one exchange after the other.

    The parser calls the methods that begin with `on_`.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.status = 0
        #: By name in lower case; those that came twice are joined with a comma.
        self.headers: dict[str, str] = {}
        self._parser = HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._head_bytes = 0
        self._has_head = False
        self._is_complete = False
        self._is_reusable = True

    def send(self, request: bytes) -> None:
        """Send a request; the answer to the one before it was read whole."""
        self.status, self.headers, self._head_bytes = 0, {}, 0
        self._has_head = self._is_complete = False
        send_all(self.sock, request)

    def read_head(self) -> None:
        """Wait for the final status and headers; an interim answer (1xx) is passed over.

        Raises: OSError.
        """
        while not self._has_head:
            self._head_bytes += self._read()
            if self._head_bytes > HEAD_LIMIT and not self._has_head:
                raise BrokenAnswer("the headers are too large")

    def packets(self) -> Iterator[bytes]:
        """Yield the body's bytes as they arrive, without their transfer coding.

        Raises: OSError.
        """
        pieces = self._pieces
        while True:
            if pieces:
                packet = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                pieces.clear()
                yield packet
            if self._is_complete:
                return
            self._read()

    @property
    def is_reusable(self) -> bool:
        """Whether another request may follow: the answer was read whole, and both sides stay."""
        return self._is_complete and self._is_reusable and not self._pieces

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()

    def _read(self) -> int:
        data = self.sock.recv(PACKET_BYTES)
        if data:
            try:
                self._parser.feed_data(data)
            except (HttpParserError, HttpParserUpgrade) as exc:
                raise BrokenAnswer("the answer is no HTTP") from exc
        elif self._has_head and not self._is_framed():
            self._is_complete = True  # as the end of the connection is its only mark
        else:
            raise BrokenAnswer("the connection ended in the middle of an answer")
        return len(data)

    def _is_framed(self) -> bool:
        """Whether the headers say where the body ends."""
        return "content-length" in self.headers or "transfer-encoding" in self.headers

    def on_message_begin(self) -> None:
        """Begin an answer; a second one was not asked for, and makes the next one doubtful."""
        if self._is_complete:
            self._is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        if not self._is_complete:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            before = self.headers.get(key)
            self.headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        """Take the status; an interim one says nothing of what comes after it."""
        if self._is_complete:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self.headers = {}
            return
        self.status, self._has_head = status, True
        self._is_reusable = self._parser.should_keep_alive()

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body."""
        if not self._is_complete:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """End the answer."""
        if self._has_head:
            self._is_complete = True


def request_bytes(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return a request, head and body, to be sent in one packet where it fits.

    Raises: ValueError when a header holds what would end it early.
    """
    lines = [f"{method} {target} HTTP/1.1", *map(": ".join, headers.items()), "", ""]
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
        raise ValueError("a header holds a line break")
    return head.encode("latin-1") + body


def decompressed(packets: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Yield a body without its content coding, as some send one that was not asked for.

    Raises: BrokenAnswer when it is not what `encoding` says, or no coding that we know.
    """
    if encoding in ("", "identity"):
        yield from packets
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise BrokenAnswer("the answer has a content coding that was not asked for")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either header
    size = 0
    try:
        for packet in packets:
            rest, size = packet, size + len(packet)
            while rest:
                if decoder.eof:  # gzip may be several files, one after the other
                    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
                if plain := decoder.decompress(rest):
                    yield plain
                rest = decoder.unused_data
    except zlib.error as exc:
        raise BrokenAnswer("the answer's content coding is broken") from exc
    if size and not decoder.eof:
        raise BrokenAnswer("the answer's content coding broke off")
