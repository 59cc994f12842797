"""A lenient parser for responses that break the rules of framing, as some servers' and proxies' do.

It runs only after the strict parser has rejected a response, and accepts what is unambiguous by
RFC 9112, section 6.3. The connection is not used again. No I/O.
"""

import re
from typing import Protocol

from app.transport.http1.errors import BadHTTP

_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+([1-9]\d\d)(?:[ \t].*)?", re.IGNORECASE)
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_BLANK_LINES = re.compile(rb"[\r\n]*")
_HEAD_END = re.compile(rb"\n\r?\n")
_DIGITS = re.compile(r"\d{1,18}", re.ASCII)

#: Most bytes that one line of a chunked body may take.
_LINE_LIMIT = 64 * 1024


class Sink(Protocol):
    """Receives what the parser finds; httptools calls the same methods."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header."""

    def on_headers_complete(self) -> None:
        """Set the status."""

    def on_body(self, piece: bytes) -> None:
        """Add a part of the body."""

    def on_message_complete(self) -> None:
        """End the response."""


def status_in(raw: bytes) -> int | None:
    """Return the final status of the response that begins with `raw`; None if it has none yet."""
    status = None
    for line in raw.splitlines():
        if found := _STATUS_LINE.fullmatch(line.strip()):
            status = int(found[1])
            if status >= 200:
                return status
    return status


class LenientParser:
    """Parses one response, with httptools' interface."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._status = 0
        self._buffer = b""
        self._at = 0  # where in the buffer to read on: it is cut once for each packet
        self._searched = 0  # bytes of a head in which no end was found
        self._step = self._read_head
        #: Bytes of the body, or of a chunk, that are still to come.
        self._left = 0

    def get_status_code(self) -> int:
        """Return the HTTP status."""
        return self._status

    def should_keep_alive(self) -> bool:
        """Return False: the two sides may disagree on where this response ends."""
        return False

    def feed_data(self, data: bytes) -> None:
        """Parse the next bytes.

        Raises: BadHTTP.
        """
        self._buffer, self._at = self._buffer[self._at :] + data, 0
        while self._step():
            pass

    def _read_head(self) -> bool:
        lines = self._taken_head()
        if lines is None:
            return False
        found = _STATUS_LINE.fullmatch(lines[0].strip())
        if not found:
            raise BadHTTP("sent a response that is not HTTP")
        self._status = int(found[1])
        headers = _headers(lines[1:])
        for name, value in headers:
            self._sink.on_header(name, value)
        if self._status == 101:
            raise BadHTTP("sent a response that is not HTTP: it wants another protocol")
        interim = self._status < 200
        step = self._read_head if interim else self._framing(headers)
        self._sink.on_headers_complete()
        if interim:
            return True
        self._step = step
        return True

    def _taken_head(self) -> list[bytes] | None:
        """Remove the head from the buffer and return its lines; None while it is incomplete.

        Raises: BadHTTP as soon as the buffer cannot begin a head.
        """
        start = _BLANK_LINES.match(self._buffer, self._at).end()  # type: ignore[union-attr]
        begun = self._buffer[start : start + 5]
        if begun.upper() != b"HTTP/"[: len(begun)]:
            raise BadHTTP("sent a response that is not HTTP")
        found = _HEAD_END.search(self._buffer, max(start, self._at + self._searched - 2))
        if not found:
            self._searched = len(self._buffer) - self._at
            return None
        self._at, self._searched = found.end(), 0
        head = self._buffer[start : found.start()]
        return [line.removesuffix(b"\r") for line in head.split(b"\n")]

    def _framing(self, headers: list[tuple[bytes, bytes]]) -> "_Step":
        """Return the first step of reading the body.

        Raises: BadHTTP if the headers contradict each other about its end.
        """
        if self._status in (204, 304):
            return self._end
        codings = _listed(headers, b"transfer-encoding")
        if codings[-1:] == ["chunked"]:
            return self._read_size
        lengths = set(_listed(headers, b"content-length"))
        if set(codings) - {"identity"} or not lengths:
            return self._read_until_closed
        length = lengths.pop()
        if not lengths and _DIGITS.fullmatch(length):
            self._left = int(length)
            return self._read_length
        if self._status >= 300:  # an error message is useful even if it is truncated
            return self._read_until_closed
        raise BadHTTP("sent a response that is not valid HTTP: its length is ambiguous")

    def _end(self) -> bool:
        self._at = len(self._buffer)
        self._step = self._ignore
        self._sink.on_message_complete()
        return False

    def _ignore(self) -> bool:
        self._at = len(self._buffer)
        return False

    def _read_until_closed(self) -> bool:
        self._left = len(self._buffer) - self._at
        self._take_piece()
        return False

    def _read_length(self) -> bool:
        self._take_piece()
        return not self._left and self._end()

    def _read_size(self) -> bool:
        line = self._taken_line()
        if line is None:
            return False
        size = line.partition(b";")[0].strip()
        if not _CHUNK_SIZE.fullmatch(size):
            raise BadHTTP("sent a response that is not valid HTTP: a chunk has no size")
        self._left = int(size, 16)
        self._step = self._read_chunk if self._left else self._read_trailer
        return True

    def _read_chunk(self) -> bool:
        self._take_piece()
        if self._left:
            return False
        line = self._taken_line()
        if line is None:
            return False
        if line:
            raise BadHTTP("sent a response that is not valid HTTP: a chunk is longer than its size")
        self._step = self._read_size
        return True

    def _read_trailer(self) -> bool:
        line = self._taken_line()
        if line is None:
            return False
        return self._end() if not line else True

    def _take_piece(self) -> None:
        piece = self._buffer[self._at : self._at + self._left]
        if piece:
            self._at += len(piece)
            self._left -= len(piece)
            self._sink.on_body(piece)

    def _taken_line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._at)
        if end < 0:
            if len(self._buffer) - self._at > _LINE_LIMIT:
                raise BadHTTP("sent a response that is not valid HTTP: a line has no end")
            return None
        line, self._at = self._buffer[self._at : end], end + 1
        return line.removesuffix(b"\r")


class _Step(Protocol):
    """One step of the parser; returns whether another may follow at once."""

    def __call__(self) -> bool: ...


def _headers(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the headers of a head, folded ones unfolded; lines without a colon are left out."""
    unfolded: list[bytes] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and unfolded:
            unfolded[-1] += b" " + line.strip()
        else:
            unfolded.append(line)
    pairs = (line.partition(b":") for line in unfolded)
    return [(name.strip(), value.strip()) for name, colon, value in pairs if colon and name.strip()]


def _listed(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    """Return the items of a header that is a list and may be repeated, in lower case."""
    values = (value.decode("latin-1") for key, value in headers if key.lower() == name)
    items = [item.strip().lower() for value in values for item in value.split(",")]
    return [item for item in items if item]
