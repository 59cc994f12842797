"""What the operating system says of a process and all of its descendants."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

#: A server rests when it uses less than this share of a core.
RESTING_SHARE = 0.1
REST_LIMIT_S = 120.0

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> Iterator[int]:
    """Yield `pid` and its descendants, as far as they live."""
    yield pid
    for task in _listed(Path(f"/proc/{pid}/task")):
        for child in _read(Path(f"/proc/{pid}/task/{task}/children")).split():
            yield from tree(int(child))


def processor_s(pid: int) -> float:
    """Return the processor time of a tree so far, in seconds, with what its dead have used."""
    used = 0
    for one in tree(pid):
        fields = _read(Path(f"/proc/{one}/stat")).rpartition(")")[2].split()
        used += sum(map(int, fields[11:15]))  # user, system; and of children that were waited for
    return used / _TICKS_A_SECOND


def memory_mb(pid: int) -> float:
    """Return the memory of a tree in MB (10^6 bytes), what processes share being counted once."""
    return sum(map(_pss_mb, tree(pid)))


def largest_mb(pid: int) -> float:
    """Return the memory of the largest process of a tree, in MB: of a server's, its worker."""
    return max(map(_pss_mb, tree(pid)))


def wait_for_rest(pid: int) -> None:
    """Wait until a tree does no more than tick; one that never does is as it is."""
    limit_s = time.monotonic() + REST_LIMIT_S
    while time.monotonic() < limit_s:
        used_s = processor_s(pid)
        time.sleep(0.5)  # the stretch that is measured
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
    except (FileNotFoundError, ProcessLookupError):  # it ended between two looks
        return ""


def _listed(path: Path) -> list[str]:
    try:
        return os.listdir(path)
    except (FileNotFoundError, ProcessLookupError):
        return []
