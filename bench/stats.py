"""Percentiles, medians and spreads of plain numbers."""

from collections.abc import Sequence
from statistics import median


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the nearest-rank percentile of `ordered` (ascending, not empty); 100: the largest.

    The result is always a measured value, never interpolated.
    """
    rank = -(-len(ordered) * percent // 100)  # rounded up
    return ordered[max(0, min(len(ordered), int(rank)) - 1)]


def spread(values: Sequence[float]) -> float:
    """Return the largest value minus the smallest."""
    return max(values) - min(values)


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, and the bounds that contain the true one with 95 % (not empty).

    The bounds are measured values, whatever their distribution; with few values, the extremes.
    """
    ordered = sorted(values)
    count = len(ordered)
    below = max(0, int(count / 2 - 0.98 * count**0.5))
    return median(ordered), ordered[below], ordered[count - 1 - below]
