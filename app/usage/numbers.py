"""Numbers: which of a process' requests the ledger has, as ranges, and which are missing. No I/O.

Each process numbers the requests that it opens: 1, 2, 3 … What is between two ranges is missing,
and was started between the end of the one and the start of the other.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import orjson


class NumberRange(NamedTuple):
    """The numbers from `first` to `last`, and when these two requests started, in Unix ms."""

    first: int
    last: int
    first_ms: int
    last_ms: int

    @property
    def size(self) -> int:
        """How many numbers these are."""
        return self.last - self.first + 1


#: Ranges in ascending order, with at least one number between each two.
Ranges = tuple[NumberRange, ...]


def with_numbers(ranges: Ranges, started: Iterable[tuple[int, int]]) -> Ranges:
    """Return `ranges` with more numbers, each with its start in Unix ms; repeats change nothing."""
    return merged(ranges, (NumberRange(number, number, at, at) for number, at in started))


def merged(ranges: Ranges, more: Iterable[NumberRange]) -> Ranges:
    """Return ranges with the numbers of `more`; repeats change nothing."""
    found: list[NumberRange] = []
    for one in sorted((*ranges, *more)):
        last = found[-1] if found else None
        if last is None or one.first > last.last + 1:
            found.append(one)
        elif one.last > last.last:
            found[-1] = NumberRange(last.first, one.last, last.first_ms, one.last_ms)
    return tuple(found)


def missing(ranges: Ranges, given: int, since_ms: int, now_ms: int) -> Ranges:
    """Return the numbers up to `given` that are in no range, and the time in which they started.

    `since_ms`, `now_ms`: when the process was first seen, and when `given` was its last number.
    """
    start, end = NumberRange(0, 0, 0, since_ms), NumberRange(given + 1, given + 1, now_ms, now_ms)
    if ranges:
        start = start._replace(last_ms=min(since_ms, ranges[0].first_ms))
    gaps = (
        NumberRange(left.last + 1, right.first - 1, left.last_ms, max(left.last_ms, right.first_ms))
        for left, right in pairwise((start, *ranges, end))
    )
    return tuple(gap for gap in gaps if gap.first <= gap.last)


def without(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """Return `ranges` without some numbers; the times stay those of the whole range."""
    removed = sorted(set(numbers))
    return tuple(part for one in ranges for part in _parts(one, removed))


def _parts(one: NumberRange, removed: Sequence[int]) -> Iterator[NumberRange]:
    first = one.first
    for number in removed[bisect_left(removed, one.first) : bisect_right(removed, one.last)]:
        if first < number:
            yield one._replace(first=first, last=number - 1)
        first = number + 1
    if first <= one.last:
        yield one._replace(first=first)


def outside(numbers: Iterable[int], ranges: Ranges) -> set[int]:
    """Return those of `numbers` that are in no range."""
    firsts = [one.first for one in ranges]
    found = set()
    for number in numbers:
        at = bisect_right(firsts, number) - 1
        if at < 0 or ranges[at].last < number:
            found.add(number)
    return found


def contains(ranges: Ranges, number: int) -> bool:
    """Return whether a number is in one of the ranges."""
    at = bisect_right(ranges, number, key=attrgetter("first")) - 1
    return at >= 0 and number <= ranges[at].last


def count(ranges: Ranges) -> int:
    """Count the numbers."""
    return sum(one.size for one in ranges)


def encode_ranges(ranges: Ranges) -> str:
    """Return ranges as a JSON array of arrays, in the order of the fields."""
    return orjson.dumps([list(one) for one in ranges]).decode()


def decode_ranges(raw: str | bytes | None) -> Ranges:
    """Return the ranges that `encode_ranges` wrote; none of None."""
    return tuple(NumberRange(*one) for one in orjson.loads(raw)) if raw else ()
