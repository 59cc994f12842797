"""Percentiles, medians and spreads of plain numbers."""

from collections.abc import Sequence
from statistics import median


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the smallest of `ordered` (ascending, not empty) that `percent` of them do not exceed.

    100 gives the largest; never a number between two that were measured.
    """
    rank = -(-len(ordered) * percent // 100)  # rounded up
    return ordered[max(0, min(len(ordered), int(rank)) - 1)]


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return median(values)


def spread(values: Sequence[float]) -> float:
    """Return how far the rounds lie apart: the largest minus the smallest."""
    return max(values) - min(values)
