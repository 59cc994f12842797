"""Amazon's binary event stream: bytes, split anywhere, to messages.

botocore parses its length-prefixed frames with checksums. It is an extra, imported when the first
stream is read. Source: docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.gateways.decoding.parsing import failed
from app.vendors.vendor import Vendor


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
        self._buffer = EventStreamBuffer()
        # On headers shorter than their declared length, botocore raises these errors of Python's.
        self._errors = (ParserError, struct.error, LookupError, ValueError)

    def feed(self, packet: bytes) -> Iterator[Message]:
        """Yield the messages that `packet` completes.

        Raises: VendorFailed for a wrong checksum, and for any other malformed frame.
        """
        self._buffer.add_data(packet)
        try:
            for message in self._buffer:
                yield Message(message.headers, message.payload)
        except self._errors as exc:
            raise failed(self._vendor, "sent a malformed event") from exc
