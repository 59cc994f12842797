"""Waiting for something real to happen: by looking again and again, with a deadline."""

import faulthandler
import sys
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(
    condition: Callable[[], object], *, deadline_s: float = 60.0, every_s: float = 0.02
) -> None:
    """Return once `condition` holds.

    Raises: TimeoutError when it does not within `deadline_s`, generous since machines are shared;
    standard error then has what each thread does.
    """
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            faulthandler.dump_traceback(sys.__stderr__ or sys.stderr)
            raise TimeoutError(f"not within {deadline_s} s: {condition}")
        time.sleep(every_s)


def has_exited(pid: int) -> bool:
    """Return whether a process has exited, even if nobody has read its exit code."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in {"Z", "X"}
