"""Amazon's binary event stream: bytes, cut anywhere, to messages.

Length-prefixed frames with checksums, which botocore parses; it is an extra, imported when the
first stream is read. Source: docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.gateways.decoding.parsing import failed
from app.vendors.vendor import Vendor


@dataclass(frozen=True, slots=True)
class Message:
    """One frame. Of its headers, `:message-type` says event, exception or error."""

    headers: Mapping[str, Any]
    payload: bytes

    def header(self, name: str) -> str:
        """Return a header's text; "" when it is absent or none."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


class MessageParser:
    """Turns one stream's bytes into messages.

    Raises: ImportError where botocore is not installed; the signer has said so before.
    """

    def __init__(self, vendor: Vendor) -> None:
        from botocore.eventstream import (  # noqa: PLC0415 - an extra
            EventStreamBuffer,
            ParserError,
        )

        self._vendor = vendor
        self._buffer = EventStreamBuffer()
        # Headers that hold less than they say escape botocore as what Python makes of them.
        self._errors = (ParserError, struct.error, LookupError, ValueError)

    def feed(self, packet: bytes) -> Iterator[Message]:
        """Yield the messages that `packet` completes.

        Raises: VendorFailed for a wrong checksum, and anything else that is no frame.
        """
        self._buffer.add_data(packet)
        try:
            for message in self._buffer:
                yield Message(message.headers, message.payload)
        except self._errors as exc:
            raise failed(self._vendor, "sent a broken event") from exc
