"""The frames of a vendor's answer, by its bytes and not by its labels: events, or JSON.

Knows no wire: a frame is a name and data. Whether an answer is a stream was never told reliably by
its content type, nor by what was asked for.
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

#: The most lines of one frame that are tried as JSON together.
LINES_LIMIT = 200

#: A field of an event stream, which need not be in the first line; other lines are passed over.
_EVENT = re.compile(rb"(?:^|[\r\n])(?::|(?:data|event|id|retry|error) *:)")

#: How far such a field is looked for, in bytes.
LOOKED_FOR = 64 * 1024

_BOM = b"\xef\xbb\xbf"


class Framing(Protocol):
    """Turns bytes, cut anywhere, into frames."""

    @property
    def is_json(self) -> bool:
        """Whether the answer is JSON without events, and so complete with its last byte."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether what has come may be all of it: JSON that could be complete."""
        ...

    def feed(self, packet: bytes) -> Iterable[ServerSentEvent]:
        """Yield the frames that `packet` completes.

        Raises: VendorFailed.
        """
        ...

    def flush(self) -> Iterable[ServerSentEvent]:
        """Yield what the end of the answer completes.

        Raises: VendorFailed.
        """
        ...


class TextFraming:
    """Server-sent events, or JSON: the first bytes that are not blank say which."""

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor
        self._events: EventParser | None = None
        self._body = io.BytesIO()  # a large answer is held once: pieces would have to be joined
        self._last = b""
        self.is_json = False

    @property
    def is_closed(self) -> bool:
        """Whether the JSON that has come ends in a bracket."""
        return self.is_json and self._last.rstrip().endswith((b"}", b"]"))

    def feed(self, packet: bytes) -> Iterable[ServerSentEvent]:
        """Return the events that `packet` completes; JSON is one frame, which `flush` gives."""
        if self._events is not None:
            return self._guarded(self._events.feed(packet))
        return self._begun(packet)

    def flush(self) -> Iterable[ServerSentEvent]:
        """Return the last event, or the JSON."""
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
        if not is_json and _EVENT.search(plain, 0, LOOKED_FOR):
            self._events = EventParser()
            return self._guarded(self._events.feed(begun))
        self.is_json = is_json or len(plain) > LOOKED_FOR
        return ()

    def _guarded(self, events: Iterator[ServerSentEvent]) -> Iterator[ServerSentEvent]:
        try:
            yield from events
        except EventTooLarge as exc:
            raise failed(self._vendor, "sent an event that is too large") from exc


def values_in(vendor: Vendor, data: bytes) -> list[Any]:
    """Return the JSON values of a frame: one, over however many lines, or several, a line each.

    Raises: VendorFailed where it is no JSON.
    """
    try:
        return [strict_json.load_vendor(data)]
    except ValueError as exc:
        lines = data.splitlines()
        if len(lines) < 2 or len(lines) > LINES_LIMIT:
            raise _no_json(vendor) from exc
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
        raise _no_json(vendor)


def _no_json(vendor: Vendor) -> VendorFailed:
    return failed(vendor, "sent something that is not JSON")
