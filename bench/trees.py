"""What a process and all below it use, read from Linux."""

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def pids(root: int) -> Iterator[int]:
    """Yield a process and all below it; one that ends meanwhile is left out."""
    yield root
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        for child in _read(task).split():
            yield from pids(int(child))


def processor_s(root: int) -> float:
    """Return the processor seconds of a process and all below it, ended ones included."""
    return sum(processor_ticks(_read(Path(f"/proc/{it}/stat"))) for it in pids(root)) / _TICKS_PER_S


def processor_ticks(stat: str) -> int:
    """Return the clock ticks in a /proc/…/stat: its own, and of children that it has waited for.

    Source: proc(5), fields 14 to 17.
    """
    return sum(map(int, stat.rpartition(")")[2].split()[11:15]))


def pss_kib(root: int) -> int:
    """Return the memory of a process and all below it, shared pages divided among their users."""
    return sum(pss_of(_read(Path(f"/proc/{it}/smaps_rollup"))) for it in pids(root))


def pss_of(rollup: str) -> int:
    """Return the proportional set size in a /proc/…/smaps_rollup, in KiB; 0 in an empty one."""
    sizes = (line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(next(sizes, 0))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return ""
