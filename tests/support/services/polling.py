"""Waiting for something real to happen: by looking again and again, with a deadline."""

import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], object], *, deadline_s: float = 60.0, every_s: float = 0.02
) -> None:
    """Return once `condition` holds.

    Raises: TimeoutError when it does not within `deadline_s`, generous since machines are shared.
    """
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {deadline_s} s: {condition}")
        time.sleep(every_s)
