"""Traps: moments at which a process under test crashes, is paused or has its clock set back.

A trap is a file named after its moment, which says what is to happen; the first process that comes
to the moment takes it, and leaves word of that. Runs inside the processes under test.
"""

import functools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DIRECTORY = Path(os.environ.get("CHAOS_TRAPS", "/nonexistent"))

#: In a trap: the process's clock jumps back this far, in seconds, until it ends.
CLOCK, JUMP_S = "CLOCK", 3600

#: A file among the traps: while it is there, the disk of the spool and the journals is full.
FULL_DISK = "full disk"


def spring(moment: str, first: Callable[[], object] = lambda: None) -> None:
    """Spring the moment's trap, if one is set, after calling `first`."""
    sprung = DIRECTORY / "sprung" / f"{moment}.{os.getpid()}"
    try:
        os.rename(DIRECTORY / moment, sprung)
    except FileNotFoundError:
        return
    what = sprung.read_text()
    first()
    if what == CLOCK:
        set_clock_back(JUMP_S)
    else:
        os.kill(os.getpid(), signal.Signals[what])


def before(owner: Any, name: str, moment: str) -> None:
    """Make the start of a method a moment for traps."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def trapped(*args: Any, **kwargs: Any) -> Any:
        spring(moment)
        return original(*args, **kwargs)

    setattr(owner, name, trapped)


def after(owner: Any, name: str, moment: str) -> None:
    """Make a method's return a moment for traps."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def trapped(*args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        spring(moment)
        return answer

    setattr(owner, name, trapped)


def set_clock_back(seconds: float) -> None:
    """Set this process's clock back; its monotonic clock stays."""
    now_s, now_ns = time.time, time.time_ns
    setattr(time, "time", lambda: now_s() - seconds)  # noqa: B010 - mypy: a function is not a variable
    setattr(time, "time_ns", lambda: now_ns() - int(seconds * 1e9))  # noqa: B010
