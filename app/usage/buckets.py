"""Buckets of time, and the cursor that leads from one page of them to the next. Pure values."""

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from app.errors import InvalidRequest

#: One second past the last year that dates can be shown in.
TIME_LIMIT_S = 253_402_300_800


@dataclass(frozen=True, slots=True)
class Bucket:
    """A span of time in Unix seconds, UTC: `start_s` is in it, `end_s` is not."""

    start_s: int
    end_s: int


def buckets(start_s: int, end_s: int, width_s: int) -> Iterator[Bucket]:
    """Cut a range at every whole multiple of `width_s`: the first and the last may be narrower.

    Source: OpenAI's usage API, whose first bucket starts with the range and whose last ends with it
    (cookbook, "How to use the Usage API and Cost API").
    """
    while start_s < end_s:
        stop_s = min(end_s, floor_to(start_s, width_s) + width_s)
        yield Bucket(start_s, stop_s)
        start_s = stop_s


def floor_to(time_s: int, width_s: int) -> int:
    """Return the start of the UTC hour, day or other width that holds `time_s`."""
    return time_s - time_s % width_s


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next page starts and where the range ends, also when the query left the end open.

    It grants nothing, since each page checks the caller's key anew; its digest catches slips.
    """

    start_s: int
    end_s: int

    def encode(self, query: bytes) -> str:
        """Return the cursor as text that is good for this query alone."""
        digest = hashlib.sha256(query + _POSITION.pack(_VERSION, self.start_s, self.end_s)).digest()
        raw = _POSITION.pack(_VERSION, self.start_s, self.end_s) + digest[:_DIGEST_BYTES]
        return _PREFIX + base64.urlsafe_b64encode(raw).decode()

    @classmethod
    def decode(cls, text: str, query: bytes) -> "Cursor":
        """Read what `encode` returned for the same query.

        Raises: InvalidRequest naming `page`.
        """
        try:
            raw = base64.urlsafe_b64decode(text.removeprefix(_PREFIX))
            _version, start_s, end_s = _POSITION.unpack_from(raw)
        except (ValueError, binascii.Error, struct.error) as exc:
            raise _not_ours() from exc
        cursor = cls(start_s, end_s)
        # Comparing the whole text leaves no second spelling of a cursor.
        if not 0 <= start_s < end_s <= TIME_LIMIT_S or cursor.encode(query) != text:
            raise _not_ours()
        return cursor


_PREFIX = "page_"
_VERSION = 1
_POSITION = struct.Struct(">Bqq")
#: With the position's 17 bytes, a multiple of three: the text needs no padding.
_DIGEST_BYTES = 16


def _not_ours() -> InvalidRequest:
    return InvalidRequest(
        "`page` must be the `next_page` of an answer to this same query.", param="page"
    )
