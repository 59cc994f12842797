"""Numbered: which request of which process a message is about, whatever else it holds. No I/O."""

import msgspec
from msgspec import Struct

from app.usage.messages.message import Number, Text, Word


class Numbered(Struct, frozen=True, gc=False):
    """The identity of an event or an open record.

    number      1 for the first request that its process opened, and so on without gaps; 0 in
                messages of versions that did not number requests
    """

    event_id: Text
    process: Text | None = None
    owner: Text | None = None
    number: Number = 0
    started_at_ms: Number = 0
    status: Word | None = None

    @property
    def key(self) -> tuple[str, int] | None:
        """The process that opened the request, and the request's number; None if it has none."""
        process = self.process or self.owner
        return (process, self.number) if process and self.number else None


_decoder = msgspec.json.Decoder(Numbered)


def numbered(raw: bytes) -> Numbered | None:
    """Return the identity in an encoded event or open record; None if it has none."""
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
