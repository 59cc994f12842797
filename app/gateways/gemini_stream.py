"""A streamed answer of Google's, event by event."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from app.completion import Completion, CompletionRequest
from app.errors import GatewayError, VendorFailed
from app.gateways import google_errors
from app.gateways.answers import failed, load
from app.gateways.base import Vendor
from app.gateways.gemini_answer import Reader
from app.sse import EventParser, EventTooLarge

#: Longest error that is looked for outside of events, in bytes.
ERROR_LIMIT = 64 * 1024

_BLANK_LINE = re.compile(rb"(?:\r\n){2}|\n\n|\r\r")


class GeminiStreamDecoder:
    """One streamed answer: whole when every choice has ended; nothing else marks its end.

    Each event is a response of its own, whose usage is the running total.
    """

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        self._vendor = vendor
        self._reader = Reader(vendor, request)
        self._parser = EventParser()
        self._expected = request.n or 1
        self._open: set[int] = set()
        self._ended: set[int] = set()
        self._tail = b""

    def feed(self, packet: bytes) -> Iterable[Completion]:
        """Yield the chunks that `packet` completes."""
        tail = (self._tail + packet)[-ERROR_LIMIT:]
        try:
            for event in self._parser.feed(packet):
                tail = packet
                yield from self._decode(event.data)
        except EventTooLarge as exc:
            raise failed(self._vendor, "sent an event that is too large") from exc
        self._tail = tail

    def close(self) -> Iterable[Completion]:
        """Yield what the end of the connection completes, if the answer is whole."""
        for event in self._parser.flush():
            yield from self._decode(event.data)
        if len(self._ended) < self._expected or self._open - self._ended:
            raise self._bare_error() or failed(
                self._vendor, "broke off before the answer was complete"
            )

    def _decode(self, text: bytes) -> Iterator[Completion]:
        if not text.strip():
            return
        chunk = self._reader.read(load(self._vendor, text))
        # Usage may come with an ended choice, said once more.
        choices = tuple(c for c in chunk.choices if c.text or c.index not in self._ended)
        for choice in choices:
            self._open.add(choice.index)
            if choice.finish_reason is not None:
                self._ended.add(choice.index)
        if choices or chunk.usage is not None:
            yield replace(chunk, choices=choices)

    def _bare_error(self) -> GatewayError | None:
        """Return the error that ended the stream as plain JSON, lines and all, and no event."""
        *_, text = _BLANK_LINE.split(self._tail)
        try:
            error = load(self._vendor, text)
        except VendorFailed:
            return None
        if not google_errors.is_error(error):
            return None
        return google_errors.failure(self._vendor, None, error, {})
