"""Percentiles, medians and spreads of plain numbers."""

from collections.abc import Sequence


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the nearest-rank percentile of `ordered` (ascending, not empty); 100: the largest.

    The result is always a measured value, never interpolated.
    """
    rank = -(-len(ordered) * percent // 100)  # rounded up
    return ordered[max(0, min(len(ordered), int(rank)) - 1)]


def spread(values: Sequence[float]) -> float:
    """Return the largest value minus the smallest."""
    return max(values) - min(values)
