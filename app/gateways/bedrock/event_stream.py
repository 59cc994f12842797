"""Amazon's binary event stream: bytes, split anywhere, to messages.

botocore parses its length-prefixed frames with checksums. It is an extra, imported when the first
stream is read. Source: docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
"""

import struct
from binascii import crc32
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.gateways.decoding.parsing import failed
from app.vendors.vendor import Vendor

#: What a frame begins with: its length, that of its headers, and the checksum of both.
_PRELUDE = struct.Struct(">III")
_PRELUDE_BYTES = _PRELUDE.size


@dataclass(frozen=True, slots=True)
class Message:
    """One frame. Its header `:message-type` is `event`, `exception` or `error`."""

    headers: Mapping[str, Any]
    payload: bytes

    def header(self, name: str) -> str:
        """Return a header's text; "" if it is missing or not a text."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


class MessageParser:
    """Parses the messages of one stream.

    Raises: ImportError if botocore is not installed; the credentials fail first, with a message.
    """

    def __init__(self, vendor: Vendor) -> None:
        from botocore.eventstream import (  # noqa: PLC0415 - an extra
            EventStreamBuffer,
            ParserError,
        )

        self._vendor = vendor
        self._buffer = EventStreamBuffer()  # given whole frames: it copies what it holds each time
        self._parts: list[bytes] = []  # of the incomplete frame
        self._size, self._wanted = 0, _PRELUDE_BYTES
        # On headers shorter than their declared length, botocore raises these errors of Python's.
        self._errors = (ParserError, struct.error, LookupError, ValueError)

    def feed(self, packet: bytes) -> Iterator[Message]:
        """Yield the messages that `packet` completes.

        Raises: VendorFailed for a wrong checksum, and for any other malformed frame.
        """
        try:
            for frame in self._frames(packet):
                self._buffer.add_data(frame)
                for message in self._buffer:
                    yield Message(message.headers, message.payload)
        except self._errors as exc:
            raise failed(self._vendor, "sent a malformed event") from exc

    def _frames(self, packet: bytes) -> Iterator[bytes]:
        """Yield the whole frames that `packet` completes; malformed ones as far as they came."""
        self._parts.append(packet)
        self._size += len(packet)
        if self._size < self._wanted:
            return
        data, at = b"".join(self._parts), 0
        while (left := len(data) - at) >= _PRELUDE_BYTES:
            length, _, checksum = _PRELUDE.unpack_from(data, at)
            if checksum != crc32(data[at : at + 8]) or length < _PRELUDE_BYTES:
                length = left
            elif length > left:
                break
            yield data[at : at + length]
            at += length
        self._parts, self._size = [data[at:]], len(data) - at
        self._wanted = max(_PRELUDE_BYTES, length if self._size >= _PRELUDE_BYTES else 0)
