"""Assigns processes to cores, and measures how busy cores were."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def split(cores: Iterable[int], gateway_cores: int) -> tuple[set[int], set[int]]:
    """Return `count` of the cores for the gateway, and the others for all other processes.

    If none is left, they share the gateway's.
    """
    ordered = sorted(cores)
    gateway, rest = ordered[-gateway_cores:], ordered[:-gateway_cores]
    return set(gateway), set(rest or gateway)


@contextlib.contextmanager
def pinned(cores: Iterable[int]) -> Iterator[None]:
    """Run on `cores`, together with all processes that are started in the meantime."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ticks(cores: Iterable[int]) -> tuple[int, int]:
    """Return the busy and the total clock ticks of `cores` so far."""
    busy = total = 0
    wanted = {f"cpu{core}" for core in cores}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in wanted:
            counts = list(map(int, fields[:8]))
            total += sum(counts)
            busy += sum(counts) - counts[3] - counts[4]  # idle, waiting for a disk
    return busy, total


def share(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Return the busy share of cores between two `ticks`, from 0 to 1."""
    total = after[1] - before[1]
    return (after[0] - before[0]) / total if total else 0.0
