"""Who runs on which core, and how busy a core was."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def split(cores: Iterable[int], gateway_cores: int) -> tuple[set[int], set[int]]:
    """Return so many of `cores` for the gateway, and the rest for everyone else.

    Where none would be left for them, they share the gateway's.
    """
    ordered = sorted(cores)
    gateway, rest = ordered[-gateway_cores:], ordered[:-gateway_cores]
    return set(gateway), set(rest or gateway)


@contextlib.contextmanager
def pinned(cores: Iterable[int]) -> Iterator[None]:
    """Run on `cores`, as do the processes that are started meanwhile, from their beginning."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ticks(cores: Iterable[int]) -> tuple[int, int]:
    """Return the clock ticks so far in which `cores` worked, and all of theirs."""
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
    """Return how busy cores were between two `ticks`, from 0 to 1."""
    total = after[1] - before[1]
    return (after[0] - before[0]) / total if total else 0.0
