"""Splits a response into frames, each a name and data: server-sent events, or one JSON text.

The first bytes decide which. The content type does not: vendors send wrong ones, and streams that
were not requested. Does not depend on any API format.
"""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from app.formats import strict_json
from app.formats.sse import EventParser, EventTooLarge, ServerSentEvent
from app.gateways.decoding.parsing import failed
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorFailed

#: Maximum number of lines of one frame that are parsed as JSON together.
LINES_LIMIT = 200

#: A field of an event stream; lines before the first one are ignored.
_EVENT = re.compile(rb"(?:^|[\r\n])(?::|(?:data|event|id|retry|error) *:)")

#: Number of bytes in which such a field is searched for.
SEARCHED_BYTES = 64 * 1024

_BOM = b"\xef\xbb\xbf"


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
        self._closing: tuple[bytes, ...] = (b"}", b"]")
        self.is_json = False

    @property
    def is_closed(self) -> bool:
        """Whether the JSON received so far ends in the bracket that closes its first one.

        A list that streams item by item ends in an item's bracket each time: not parsed then.
        """
        return self.is_json and self._last.rstrip().endswith(self._closing)

    def feed(self, packet: bytes) -> Iterable[ServerSentEvent]:
        """Return the events that `packet` completes; JSON is one frame, returned by `flush`."""
        if self._events is not None:
            return self._guarded(self._events.feed(packet))
        return self._begun(packet)

    def flush(self) -> Iterable[ServerSentEvent]:
        """Return the last event, or the JSON text."""
        if self._events is None:
            self.is_json = True
            body = self._body.getvalue()
            return [ServerSentEvent(None, body)] if body and not body.isspace() else []
        return self._guarded(self._events.flush())

    def _begun(self, packet: bytes) -> Iterable[ServerSentEvent]:
        self._body.write(packet)
        self._last = packet
        if self.is_json:
            return ()
        begun = self._body.getvalue()
        plain = begun.removeprefix(_BOM).lstrip()
        is_json = plain.startswith((b"{", b"["))
        if not is_json and _EVENT.search(plain, 0, SEARCHED_BYTES):
            self._events = EventParser()
            return self._guarded(self._events.feed(begun))
        self.is_json = is_json or len(plain) > SEARCHED_BYTES
        if is_json:
            self._closing = (b"}",) if plain.startswith(b"{") else (b"]",)
        return ()

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
    for line in lines:
        begun.append(line)
        text = b"\n".join(begun)
        if not text.strip():
            continue
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
