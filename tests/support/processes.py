"""Processes and threads that a test starts: each wait has a limit, and after it comes SIGKILL.

`with subprocess.Popen(...)` waits for ever for a process that ignores the signal that was to end
it: SIGINT, for one, is ignored by all that a shell starts in the background.
"""

import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: How long a process may take to end when it is asked to, generous since machines are shared.
END_S = 60.0

#: How long the kernel may take to end one that is killed.
KILLED_S = 30.0


def ended(process: "subprocess.Popen[Any]", within_s: float = END_S) -> int:
    """Wait for a process that is to end by itself, kill it if it does not; return its exit code."""
    try:
        return process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait(KILLED_S)


def end(
    process: "subprocess.Popen[Any]",
    by: signal.Signals = signal.SIGTERM,
    within_s: float = END_S,
) -> int:
    """Ask a process to end, kill it if it does not in time; return its exit code."""
    process.send_signal(by)  # nothing where it has ended
    return ended(process, within_s)


@contextmanager
def started(command: Sequence[str | Path], **options: Any) -> "Iterator[subprocess.Popen[Any]]":
    """Run a command with the options of `subprocess.Popen`; leaving the block ends it."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        try:
            end(process)
        finally:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def join(*threads: threading.Thread, within_s: float = 2 * END_S) -> None:
    """Wait until threads have ended.

    Raises: TimeoutError when one has not within `within_s`.
    """
    for thread in threads:
        thread.join(within_s)
        if thread.is_alive():
            raise TimeoutError(f"the thread {thread.name} has not ended in {within_s} s")


def run_all(threads: Iterable[threading.Thread]) -> None:
    """Start threads and wait until they have ended."""
    begun = list(threads)
    for thread in begun:
        thread.daemon = True  # one that hangs is not to hold up the end of the run
        thread.start()
    join(*begun)


def obey_interrupts() -> None:
    """Have Ctrl-C and Ctrl-\\ reach this process and those it starts.

    A shell that has started it in the background has both ignored.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGQUIT) == signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
