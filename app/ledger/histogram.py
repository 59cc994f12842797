"""Histograms of times, as one integer each: adding two histograms is adding two integers.

A bucket's count is a field of the integer, 40 bits wide, which is more than any ledger has
requests. Up to 31 ms, each millisecond has its bucket. Above, each doubling has 16 buckets of
equal width (as in HdrHistogram), so that a time differs from the middle of its bucket by at most
1/32: 3.2 %. Pure, and exact on every host: no floating-point number decides on a bucket.

Instead of a library (ddsketch needs protobuf, datasketches numpy, and their sketches are neither
summed in large numbers nor read in SQL).
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

#: Buckets of a doubling.
SUB_BUCKETS = 16
_SHIFT = 4
#: How often 31 ms are doubled: up to 2^31 ms, 24 days.
DOUBLINGS = 26
LAST_BUCKET = (DOUBLINGS + 2) * SUB_BUCKETS - 1
_BITS = 40
#: Up to this many buckets are written one by one.
FEW = 16


def of(*times_ms: int) -> int:
    """Return the histogram of some times, which are at least 0."""
    return sum(of_bucket(bucket_of(it)) for it in times_ms)


def of_bucket(bucket: int) -> int:
    """Return the histogram of one time in a bucket."""
    return 1 << (_BITS * bucket)


def bucket_of(time_ms: int) -> int:
    """Return the number of a time's bucket; that of the longest times is LAST_BUCKET."""
    doublings = max(0, time_ms.bit_length() - _SHIFT - 1)
    if doublings > DOUBLINGS:
        return LAST_BUCKET
    return (doublings << _SHIFT) + (time_ms >> doublings)


def middle_ms(bucket: int) -> int:
    """Return the middle of a bucket."""
    if bucket < 2 * SUB_BUCKETS:
        return bucket
    doublings = (bucket >> _SHIFT) - 1
    lowest = (bucket - (doublings << _SHIFT)) << doublings
    return lowest + (1 << doublings) // 2


def counts(histogram: int) -> Iterator[tuple[int, int]]:
    """Yield (bucket, count) of each bucket that has any, in their order."""
    size = _BITS // 8
    raw = histogram.to_bytes(-(-histogram.bit_length() // _BITS) * size, "little")
    for bucket in range(len(raw) // size):
        if count := int.from_bytes(raw[bucket * size : (bucket + 1) * size], "little"):
            yield bucket, count


def percentiles(histogram: int, *percents: int) -> list[int | None]:
    """Return the nearest-rank percentiles, each as the middle of its bucket; None if it is empty.

    They differ from the exact ones by at most 3.2 %.
    """
    known = list(counts(histogram))
    if not known:
        return [None] * len(percents)
    buckets = [bucket for bucket, _ in known]
    passed = list(accumulate(count for _, count in known))
    ranks = (max(1, -(-passed[-1] * percent // 100)) for percent in percents)
    return [middle_ms(buckets[bisect_left(passed, rank)]) for rank in ranks]


def encode(histogram: int) -> str:
    """Return a histogram as text without spaces, which is empty for an empty histogram.

    `<bucket>=<count>,…` if it has few buckets; else `<bucket>:<fields>`: the first bucket, and the
    fields from there on as one hexadecimal number, which is read much faster.
    """
    known = list(counts(histogram))
    if len(known) <= FEW:
        return ",".join(f"{bucket}={count}" for bucket, count in known)
    first, last = known[0][0], known[-1][0]
    fields = histogram >> (_BITS * first)
    return f"{first}:{fields.to_bytes((last - first + 1) * _BITS // 8, 'big').hex()}"


def decode(text: str) -> int:
    """Return the histogram that `encode` wrote."""
    first, colon, fields = text.partition(":")
    if colon:
        return int.from_bytes(bytes.fromhex(fields), "big") << (_BITS * int(first))
    pairs = (pair.split("=") for pair in filter(None, text.split(",")))
    return sum(int(count) * of_bucket(int(bucket)) for bucket, count in pairs)
