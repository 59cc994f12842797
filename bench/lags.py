"""Computes each chunk's lag from the bytes and times of a socket. No I/O."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from bench.vendor_wire import MARK

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)
_END = b"data: [DONE]"

#: Received bytes, with their time (CLOCK_MONOTONIC in ns).
Piece = tuple[int, bytes]


@dataclass(slots=True)
class Heard:
    """What a client received of one stream."""

    status: int = 0
    #: Whether the stream has its terminator and the body its last part.
    ended: bool = False
    #: The chunks' numbers in the order of their arrival.
    numbers: list[int] = field(default_factory=list)
    #: Time from each chunk's sending to its arrival, in ms.
    lags_ms: list[float] = field(default_factory=list)
    first_ns: int | None = None

    def lost(self, expected: int) -> int:
        """Return how many of `expected` chunks are missing or out of order."""
        return expected - sum(1 for at, number in enumerate(self.numbers) if at == number)


def hear(pieces: Sequence[Piece]) -> Heard:
    """Parse `pieces`, everything that a connection received."""
    raw = b"".join(data for _, data in pieces)
    status = _STATUS.match(raw)
    head_end = raw.find(b"\r\n\r\n")
    if status is None or head_end < 0:
        return Heard()
    heard = Heard(int(status[1]))
    if not _CHUNKED.search(raw, 0, head_end + 2):
        return heard
    parts, whole = _unchunk(raw, head_end + 4)
    body = b"".join(raw[start:end] for start, end in parts)
    body_ends = list(accumulate(end - start for start, end in parts))
    raw_ends = list(accumulate(len(data) for _, data in pieces))
    heard.ended = whole and _END in body[-64:]
    for mark in MARK.finditer(body):
        part = bisect_left(body_ends, mark.end())
        raw_end = parts[part][1] - (body_ends[part] - mark.end())
        arrived_ns = pieces[bisect_left(raw_ends, raw_end)][0]
        heard.numbers.append(int(mark[1]))
        heard.lags_ms.append((arrived_ns - int(mark[2])) / 1e6)
        if heard.first_ns is None:
            heard.first_ns = arrived_ns
    return heard


def _unchunk(raw: bytes, start: int) -> tuple[list[tuple[int, int]], bool]:
    """Return the bounds of a chunked body's parts in `raw`, and whether the body is complete."""
    parts = list(_parts(raw, start))
    if parts and parts[-1][0] == parts[-1][1]:
        return parts[:-1], True
    return parts, False


def _parts(raw: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of each part; the last one is empty and ends the body."""
    while (line_end := raw.find(b"\r\n", at)) >= 0:
        size = int(raw[at:line_end].partition(b";")[0], 16)
        begin = line_end + 2
        end = begin + size
        if end + 2 > len(raw):
            return
        yield begin, end
        if not size:
            return
        at = end + 2
