"""Processor time and memory of a process and its descendants."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

#: A server is idle if it uses less than this share of a core.
RESTING_SHARE = 0.1
REST_LIMIT_S = 120.0

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> Iterator[int]:
    """Yield `pid` and its running descendants."""
    yield pid
    for task in _listed(Path(f"/proc/{pid}/task")):
        for child in _read(Path(f"/proc/{pid}/task/{task}/children")).split():
            yield from tree(int(child))


def processor_s(pid: int) -> float:
    """Return the processor seconds of a tree so far, including exited processes."""
    used = 0
    for one in tree(pid):
        fields = _read(Path(f"/proc/{one}/stat")).rpartition(")")[2].split()
        used += sum(map(int, fields[11:15]))  # user and system time, with exited children
    return used / _TICKS_A_SECOND


def memory_mb(pid: int) -> float:
    """Return the memory of a tree in MB (10^6 bytes); shared memory is counted once."""
    return sum(map(_pss_mb, tree(pid)))


def largest_mb(pid: int) -> float:
    """Return the memory of the largest process of a tree in MB: a server's worker."""
    return max(map(_pss_mb, tree(pid)))


def wait_for_rest(pid: int) -> None:
    """Wait until a tree is idle, at most until a deadline."""
    limit_s = time.monotonic() + REST_LIMIT_S
    while time.monotonic() < limit_s:
        used_s = processor_s(pid)
        time.sleep(0.5)  # the measured interval
        if processor_s(pid) - used_s < 0.5 * RESTING_SHARE:
            return


def _pss_mb(pid: int) -> float:
    for line in _read(Path(f"/proc/{pid}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):  # it exited between two samples
        return ""


def _listed(path: Path) -> list[str]:
    try:
        return os.listdir(path)
    except (FileNotFoundError, ProcessLookupError):
        return []
