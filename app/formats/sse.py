"""Server-sent events: bytes to events, and frames to bytes.

Source: WHATWG HTML, section 9.2 "Server-sent events". Does not depend on JSON or on vendors.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"

#: Fields that are ignored; the first is a comment.
_IGNORED = (b"", b"id", b"retry")

#: Longest event that is held in memory, in bytes; no vendor sends one near it.
EVENT_LIMIT = 16 * 1024 * 1024

KEEP_ALIVE = b": keep-alive\n\n"
DONE = b"event: done\ndata: [DONE]\n\n"


class EventTooLarge(ValueError):
    """A line or an event is longer than EVENT_LIMIT."""


class ServerSentEvent(NamedTuple):
    """One event: its name (None without one) and its data, whose lines are joined by LF."""

    name: str | None
    data: bytes


class EventParser:
    """Parses bytes, split anywhere, into events.

    Lines end in LF, CR or CRLF. A CR ends its line at once, so that no event waits for the byte
    after it; an LF that follows, even in the next packet, is then part of the same line end.
    Lines are split as bytes: `str.splitlines` would also cut at U+2028, which JSON may contain.
    Beyond the standard, an `error:` field is an event of that name, and a bare JSON object is an
    unnamed event: servers that fail in the middle of a stream write such lines.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of the incomplete line
        self._parts_size = 0
        self._lines: list[bytes] = []  # data of the incomplete event
        self._lines_size = 0
        self._skip_lf = False
        self._at_start = True
        self._name: str | None = None
        self._bare: list[bytes] = []  # lines of an object without a field name
        self._bare_size = 0

    def feed(self, packet: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that `packet` completes.

        Raises: EventTooLarge.
        """
        if self._skip_lf and packet:
            packet = packet.removeprefix(b"\n")
            self._skip_lf = False
        if not packet:
            return
        if self._is_one_event(packet):  # the usual case
            yield ServerSentEvent(None, packet[6:-2])
            return
        self._parts.append(packet)
        self._parts_size += len(packet)
        if b"\n" in packet or b"\r" in packet:  # a long line is joined only once, when it ends
            buffer = b"".join(self._parts)
            self._skip_lf = buffer.endswith(b"\r")
            # Nearly all vendors end their lines in LF, at which bytes split five times as fast.
            *lines, tail = _LINE_END.split(buffer) if b"\r" in buffer else buffer.split(b"\n")
            self._parts, self._parts_size = [tail], len(tail)
            for line in lines:
                event = self._take(line)
                if event:
                    yield event
        self._check_size(self._parts_size)

    def flush(self) -> Iterator[ServerSentEvent]:
        """Yield the event without a blank line at the end of the stream, if any."""
        tail = b"".join(self._parts)
        self._parts, self._parts_size = [], 0
        for line in (tail, b"") if tail else (b"",):
            event = self._take(line)
            if event:
                yield event

    def _is_one_event(self, packet: bytes) -> bool:
        """Whether `packet` is one line of data and a blank line, after complete events."""
        begun = self._parts_size or self._lines or self._name is not None or self._at_start
        return (
            not begun
            and packet.startswith(b"data: ")
            and packet.endswith(b"\n\n")
            and packet.count(b"\n") == 2
            and b"\r" not in packet
            and len(packet) <= EVENT_LIMIT
        )

    def _take(self, line: bytes) -> ServerSentEvent | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        self._check_size(len(line))
        field, _, value = line.partition(b":")
        if field == b"data":
            self._lines.append(value.removeprefix(b" "))
            self._lines_size += len(line)
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace") or None
        elif field == b"error":
            return ServerSentEvent("error", value.removeprefix(b" "))
        elif field not in _IGNORED:
            return self._take_bare(line)
        return None

    def _take_bare(self, line: bytes) -> ServerSentEvent | None:
        """Take a line of a bare JSON object, which is an event.

        An object over several lines ends with a line that is only a bracket.
        """
        if self._bare:
            self._bare.append(line)
            self._bare_size += len(line)
            self._check_size(self._bare_size)
            return self._bare_event() if line in (b"}", b"]") else None
        if not line.startswith((b"{", b"[")):
            return None
        self._bare.append(line)
        self._bare_size = len(line)
        return self._bare_event() if line.rstrip().endswith((b"}", b"]")) else None

    def _bare_event(self) -> ServerSentEvent | None:
        lines, self._bare = self._bare, []
        return ServerSentEvent(None, b"\n".join(lines)) if lines else None

    def _dispatch(self) -> ServerSentEvent | None:
        lines, name = self._lines, self._name
        self._lines, self._lines_size, self._name = [], 0, None
        return ServerSentEvent(name, b"\n".join(lines)) if lines else self._bare_event()

    def _check_size(self, line_size: int) -> None:
        if self._lines_size + line_size > EVENT_LIMIT:
            raise EventTooLarge(f"event is longer than {EVENT_LIMIT} bytes")


def frame(payload: bytes) -> bytes:
    """Return an unnamed event; `payload` is one line."""
    return b"data: " + payload + b"\n\n"


def error_frame(payload: bytes) -> bytes:
    """Return the `error` event, for a failure after the first byte; `payload` is one line."""
    return b"event: error\ndata: " + payload + b"\n\n"
