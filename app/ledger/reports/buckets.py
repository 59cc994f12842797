"""Buckets of time, and the cursor that leads from one page of them to the next. Pure values."""

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from app.storage.sql.tables import DAY_S
from app.vocabulary.errors import InvalidRequest

#: 9999-12-30: the last days that dates can be shown in are another year's in some time zone.
TIME_LIMIT_S = 253_402_128_000


@dataclass(frozen=True, slots=True)
class Bucket:
    """A span of time in Unix seconds, UTC: `start_s` is in it, `end_s` is not."""

    start_s: int
    end_s: int


@dataclass(frozen=True, slots=True)
class Run:
    """Buckets in a row, which all start at whole multiples of their width plus `phase_s`.

    The first may start later and the last end earlier. A phase of None says that there is one
    bucket alone, of any length.
    """

    buckets: Sequence[Bucket]
    phase_s: int | None

    @property
    def start_s(self) -> int:
        """Where the first bucket starts."""
        return self.buckets[0].start_s

    @property
    def end_s(self) -> int:
        """Where the last bucket ends."""
        return self.buckets[-1].end_s


def buckets(start_s: int, end_s: int, width_s: int, zone: tzinfo = UTC) -> Iterator[Bucket]:
    """Cut a range where the clocks of `zone` show a whole multiple of `width_s` since midnight.

    The first and the last may be narrower. A day is a local one: of 23 or 25 hours where clocks
    change. Hours and minutes are always real ones; where clocks change by part of an hour, one hour
    is cut short.
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
        # Of a midnight that comes twice this is the first; one that clocks skip is the instant at
        # which they do; and of a day that a place skipped nothing is left.
        midnight_s = int(datetime.combine(day, datetime.min.time(), zone).timestamp())
        if midnight_s > time_s:
            return midnight_s


def runs(page: Sequence[Bucket], width_s: int) -> Iterator[Run]:
    """Divide buckets so that each part can be cut by one division: more than one only where clocks
    change.
    """
    start = 0
    for index in range(1, len(page) + 1):
        if index == len(page) or not _go_on(page[start:index], page[index], width_s):
            yield _run(page[start:index], width_s)
            start = index


def _go_on(run: Sequence[Bucket], bucket: Bucket, width_s: int) -> bool:
    phases_s = {it.start_s % width_s for it in (*run[1:2], bucket)}
    return len(phases_s) == 1 and all(it.end_s - it.start_s <= width_s for it in (run[-1], bucket))


def _run(run: Sequence[Bucket], width_s: int) -> Run:
    return Run(run, run[1].start_s % width_s if len(run) > 1 else None)


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
