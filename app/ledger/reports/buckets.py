"""Buckets of time, and the cursor from one page of buckets to the next. No I/O."""

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from app.ledger.slots import DAY_S, floor_to
from app.vocabulary.errors import InvalidRequest

#: 9999-12-30: later times are in the year 10000 in some time zones, which dates cannot represent.
TIME_LIMIT_S = 253_402_128_000


@dataclass(frozen=True, slots=True)
class Bucket:
    """A span of time in Unix seconds, UTC; `end_s` is exclusive."""

    start_s: int
    end_s: int


@dataclass(frozen=True, slots=True)
class BucketRun:
    """Consecutive buckets that begin at multiples of their width plus `phase_s`.

    The first bucket may start later and the last one end earlier. If `phase_s` is None, the run is
    a single bucket of any length.
    """

    buckets: Sequence[Bucket]
    phase_s: int | None

    @property
    def start_s(self) -> int:
        """The start of the first bucket."""
        return self.buckets[0].start_s

    @property
    def end_s(self) -> int:
        """The end of the last bucket (exclusive)."""
        return self.buckets[-1].end_s


def buckets(start_s: int, end_s: int, width_s: int, zone: tzinfo = UTC) -> Iterator[Bucket]:
    """Divide a range at multiples of `width_s` since midnight, by the clocks of `zone`.

    The first and the last bucket may be narrower. Days are local days, which have 23 or 25 hours
    when clocks change. Hours and minutes always have their usual length, except that one hour is
    shorter when clocks change by part of an hour.
    Source: OpenAI's usage API, whose first bucket starts with the range and whose last ends with it
    (cookbook, "How to use the Usage API and Cost API").
    """
    next_cut_s = _next_midnight_s if width_s == DAY_S and zone is not UTC else _next_multiple_s
    while start_s < end_s:
        stop_s = min(end_s, next_cut_s(start_s, width_s, zone))
        yield Bucket(start_s, stop_s)
        start_s = stop_s


def _next_multiple_s(time_s: int, width_s: int, zone: tzinfo) -> int:
    offset_s = 0 if zone is UTC else _offset_s(time_s, zone)
    return floor_to(time_s + offset_s, width_s) + width_s - offset_s


def _offset_s(time_s: int, zone: tzinfo) -> int:
    offset = datetime.fromtimestamp(time_s, zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _next_midnight_s(time_s: int, _width_s: int, zone: tzinfo) -> int:
    day = datetime.fromtimestamp(time_s, zone).date()
    while True:
        day += timedelta(days=1)
        # A midnight that occurs twice is the first of both. A midnight that clocks skip is the
        # instant of the change. A day that a place skipped has no length, and the loop goes on.
        midnight_s = int(datetime.combine(day, datetime.min.time(), zone).timestamp())
        if midnight_s > time_s:
            return midnight_s


def runs(page: Sequence[Bucket], width_s: int) -> Iterator[BucketRun]:
    """Divide a page into runs of buckets that one query can sum: several only if clocks change."""
    start = 0
    for index in range(1, len(page) + 1):
        if index == len(page) or not _continues(page[start:index], page[index], width_s):
            yield _run(page[start:index], width_s)
            start = index


def _continues(run: Sequence[Bucket], bucket: Bucket, width_s: int) -> bool:
    phases_s = {it.start_s % width_s for it in (*run[1:2], bucket)}
    return len(phases_s) == 1 and all(it.end_s - it.start_s <= width_s for it in (run[-1], bucket))


def _run(run: Sequence[Bucket], width_s: int) -> BucketRun:
    return BucketRun(run, run[1].start_s % width_s if len(run) > 1 else None)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The start of the next page and the end of the range, in Unix seconds.

    `end_s` stays the same on all pages of a query that left its end open. A cursor grants no
    access, since each page authenticates the caller again; its digest detects mistakes.
    """

    start_s: int
    end_s: int

    def encode(self, query: bytes) -> str:
        """Return the cursor as text that only the same query can decode."""
        digest = hashlib.sha256(query + _POSITION.pack(_VERSION, self.start_s, self.end_s)).digest()
        raw = _POSITION.pack(_VERSION, self.start_s, self.end_s) + digest[:_DIGEST_BYTES]
        return _PREFIX + base64.urlsafe_b64encode(raw).decode()

    @classmethod
    def decode(cls, text: str, query: bytes) -> "Cursor":
        """Parse a cursor that `encode` returned for the same query.

        Raises: InvalidRequest, with the parameter `page`.
        """
        try:
            raw = base64.urlsafe_b64decode(text.removeprefix(_PREFIX))
            _version, start_s, end_s = _POSITION.unpack_from(raw)
        except (ValueError, binascii.Error, struct.error) as exc:
            raise _invalid_cursor() from exc
        cursor = cls(start_s, end_s)
        # Comparing the whole text rejects other spellings of the same cursor.
        if not 0 <= start_s < end_s <= TIME_LIMIT_S or cursor.encode(query) != text:
            raise _invalid_cursor()
        return cursor


_PREFIX = "page_"
_VERSION = 1
_POSITION = struct.Struct(">Bqq")
#: With the position's 17 bytes, a multiple of three: the text needs no padding.
_DIGEST_BYTES = 16


def _invalid_cursor() -> InvalidRequest:
    return InvalidRequest(
        "`page` must be the `next_page` of a response to the same query.", param="page"
    )
