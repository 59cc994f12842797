"""Splits a response into frames, each a name and data: server-sent events, or one JSON text.

The first bytes decide which. The content type does not: vendors send wrong ones, and streams that
were not requested. Does not depend on any API format.
"""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from app.formats import strict_json
from app.formats.json_nesting import JSONNesting
from app.formats.sse import EventParser, EventTooLarge, ServerSentEvent
from app.gateways.decoding.parsing import failed
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorFailed

#: Maximum number of lines of one frame that are parsed as JSON together.
LINES_LIMIT = 200

#: A field of an event stream, after a line end; lines before the first one are ignored.
_EVENT = re.compile(rb"[\r\n](?::|(?:data|event|id|retry|error) *:)")

#: The longest such field, in bytes, but for the blanks in it: so much is searched again.
_FIELD_BYTES = 64

#: Number of bytes in which such a field is searched for.
SEARCHED_BYTES = 64 * 1024

_BOM = b"\xef\xbb\xbf"

#: How often JSON that ends in its first bracket's is parsed before its brackets are counted.
FREE_ATTEMPTS = 3

#: How much is parsed to find the values in the lines of one frame, over all attempts, in bytes.
LINES_BYTES = 16 * 1024 * 1024


class Framing(Protocol):
    """Turns bytes, cut anywhere, into frames."""

    @property
    def is_json(self) -> bool:
        """Whether the response is JSON, which is complete with its last byte."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether the JSON received so far may be complete."""
        ...

    def feed(self, packet: bytes) -> Iterable[ServerSentEvent]:
        """Yield the frames that `packet` completes.

        Raises: VendorFailed.
        """
        ...

    def flush(self) -> Iterable[ServerSentEvent]:
        """Yield the frames that the end of the response completes.

        Raises: VendorFailed.
        """
        ...


class TextFraming:
    """Server-sent events, or JSON: the first bytes that are not blank decide."""

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor
        self._events: EventParser | None = None
        self._body = io.BytesIO()  # holds a large response once: parts would have to be joined
        self._last = b""
        self._start = b""  # a part of a byte-order mark
        self._tail = b"\n"  # the end of what was searched
        self._closing: tuple[bytes, ...] = (b"}", b"]")
        self._attempts = 0
        self._nesting: JSONNesting | None = None
        self.is_json = False

    @property
    def is_closed(self) -> bool:
        """Whether the JSON received so far ends in the bracket that closes its first one.

        A list that streams item by item ends in an item's bracket each time: not parsed then. After
        FREE_ATTEMPTS, brackets are counted: to parse all of it each time takes the square of that.
        """
        if not self.is_json or not self._last.rstrip().endswith(self._closing):
            return False
        self._attempts += 1
        if self._attempts <= FREE_ATTEMPTS:
            return True
        if self._nesting is None:
            self._nesting = JSONNesting()
            self._nesting.feed(self._body.getvalue().decode("latin-1"))
        return self._nesting.is_closed

    def feed(self, packet: bytes) -> Iterable[ServerSentEvent]:
        """Return the events that `packet` completes; JSON is one frame, returned by `flush`."""
        if self._events is not None:
            return self._guarded(self._events.feed(packet))
        return self._begun(packet)

    def flush(self) -> Iterable[ServerSentEvent]:
        """Return the last event, or the JSON text."""
        if self._events is None:
            self.is_json = True
            body = self._start + self._body.getvalue()
            return [ServerSentEvent(None, body)] if body and not body.isspace() else []
        return self._guarded(self._events.flush())

    def _begun(self, packet: bytes) -> Iterable[ServerSentEvent]:
        before = self._body.tell()
        if not before and not (packet := self._without_blanks(packet)):
            return ()
        self._body.write(packet)
        self._last = packet
        if self.is_json:
            if self._nesting is not None:
                self._nesting.feed(packet.decode("latin-1"))
            return ()
        if not before and packet.startswith((b"{", b"[")):
            self.is_json, self._closing = True, ((b"}",) if packet[:1] == b"{" else (b"]",))
            return ()
        searched = self._tail + packet[: SEARCHED_BYTES - before]
        if _EVENT.search(searched):
            self._events = EventParser()
            return self._guarded(self._events.feed(self._body.getvalue()))
        self._tail = searched[-_FIELD_BYTES:]
        self.is_json = self._body.tell() > SEARCHED_BYTES
        return ()

    def _without_blanks(self, packet: bytes) -> bytes:
        """Return a packet without the blanks and the mark that a response may begin with."""
        start = (self._start + packet).lstrip()
        self._start = b""
        if start and len(start) < len(_BOM) and _BOM.startswith(start):
            self._start = start
            return b""
        return start.removeprefix(_BOM).lstrip()

    def _guarded(self, events: Iterator[ServerSentEvent]) -> Iterator[ServerSentEvent]:
        try:
            yield from events
        except EventTooLarge as exc:
            raise failed(self._vendor, "sent an event that is too large") from exc


def values_in(vendor: Vendor, data: bytes) -> list[Any]:
    """Return the JSON values of a frame: one over any number of lines, or one per line.

    Raises: VendorFailed if it is not JSON.
    """
    try:
        return [strict_json.load_vendor(data)]
    except ValueError as exc:
        lines = data.splitlines()
        if len(lines) < 2 or len(lines) > LINES_LIMIT:
            raise _not_json(vendor) from exc
    return list(_values_of(vendor, lines))


def _values_of(vendor: Vendor, lines: list[bytes]) -> Iterator[Any]:
    begun: list[bytes] = []
    parsed = 0
    for line in lines:
        begun.append(line)
        text = b"\n".join(begun)
        if not text.strip():
            continue
        parsed += len(text)
        if parsed > LINES_BYTES:
            raise _not_json(vendor)
        try:
            value = strict_json.load_vendor(text)
        except ValueError:
            continue
        begun.clear()
        yield value
    if b"".join(begun).strip():
        raise _not_json(vendor)


def _not_json(vendor: Vendor) -> VendorFailed:
    return failed(vendor, "sent something that is not JSON")
