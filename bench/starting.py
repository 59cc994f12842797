"""Starts servers, and measures the time to their first response."""

import http.client
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from app.devstack.children import Children
from bench.cores import pinned
from bench.failures import NotReady
from bench.target import Target
from bench.vendor_wire import TEXT

POLL_S = 0.005
#: How long a gateway may take; one peer needs almost a minute on a busy host.
START_S = 180.0


def start(children: Children, name: str, command: Sequence[str], cores: set[int]) -> int:
    """Start `command` on `cores` and return its process id."""
    with pinned(cores):
        children.start(name, command)
    return children.pid(name)


def first_response_s(children: Children, target: Target, started_s: float) -> float:
    """Wait for the first completion; return the seconds since `started_s`.

    Raises: NotReady if it is not the vendor's, or if there is none; ChildFailed.
    """
    response = (0, b"")
    while time.monotonic() - started_s < START_S:
        children.check()
        try:
            response = target.ask("whole")
        except (OSError, http.client.HTTPException):  # not ready yet; the wait has a deadline
            response = (0, b"")
        if response[0] == 200:
            break
        time.sleep(POLL_S)  # between two checks, with a deadline
    taken_s = time.monotonic() - started_s
    if response[0] != 200 or TEXT.encode() not in response[1]:
        raise NotReady(f"{target.name}: {response[0]} {response[1][:500].decode(errors='replace')}")
    return taken_s


def wait_until(condition: Callable[[], bool], what: str, limit_s: float) -> None:
    """Wait until `condition` holds.

    Raises: NotReady.
    """
    deadline_s = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise NotReady(f"not within {limit_s:.0f} s: {what}")
        time.sleep(0.05)  # between two checks, with a deadline


def log_dir(folder: Path, name: str) -> Path:
    """Return the directory of a target's logs."""
    return folder / name.lower() / "log"
