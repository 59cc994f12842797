"""Starts child processes with one log each, watches them, and stops them in order."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from app.settings import ROOT

POLL_S = 0.1
#: How long a child may take to exit before it is killed, in seconds.
STOP_S = 15.0

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class ChildFailed(Exception):
    """A child exited or is not ready in time; the message shows the end of its log."""


@dataclass(frozen=True, slots=True)
class Child:
    """One process, and the file with its output."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path


class Children:
    """Child processes that end with this process; leaving the context stops them."""

    def __init__(self, log_dir: Path, env: Mapping[str, str]) -> None:
        self._log_dir = log_dir
        self._env = dict(env)
        self._children: list[Child] = []

    def __enter__(self) -> "Children":
        self._log_dir.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self, name: str, command: Sequence[str], *, pass_fds: Sequence[int] = ()) -> None:
        """Start `command` in the project's root; its output goes to a new log."""
        log = self._log_dir / f"{name}.log"
        parent = os.getpid()
        with log.open("wb") as output:
            # In its own session: Ctrl-C only reaches this process, which stops them in order.
            process = subprocess.Popen(  # noqa: S603  # the commands are ours
                command,
                cwd=ROOT,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=pass_fds,
                start_new_session=True,
                preexec_fn=lambda: end_with(parent),  # noqa: PLW1509  # no threads here
            )
        self._children.append(Child(name, process, log))

    def pid(self, name: str) -> int:
        """Return the process id of a child."""
        return next(child.process.pid for child in self._children if child.name == name)

    def check(self) -> None:
        """Raise ChildFailed if a child has exited."""
        for child in self._children:
            code = child.process.poll()
            if code is not None:
                raise ChildFailed(f"{child.name} exited with code {code}.{_tail(child.log)}")

    def wait_until(self, ready: Callable[[], bool], name: str, deadline_s: float) -> None:
        """Wait until `ready` returns True; `name` is the child that it checks.

        Raises: ChildFailed if a child exits or the deadline passes.
        """
        deadline = time.monotonic() + deadline_s
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                log = self._log_dir / f"{name}.log"
                raise ChildFailed(f"{name} is not ready after {deadline_s:.0f} s.{_tail(log)}")
            time.sleep(POLL_S)  # between two checks, with a deadline

    def stop(self) -> None:
        """Stop each child, the last one first; kill those that do not exit in time."""
        while self._children:
            child = self._children.pop()
            child.process.terminate()
            try:
                child.process.wait(STOP_S)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C: kill at once
                child.process.kill()
                child.process.wait()
            kill_group(child.process.pid)


def end_with(parent: int) -> None:  # pragma: no cover  # it runs in the child
    """Make Linux end this child when its parent exits, even by `kill -9`."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it has exited already
            os._exit(1)


def kill_group(group: int) -> None:
    """Kill the remaining processes of a child's session."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _tail(log: Path, lines: int = 15) -> str:
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    last = "".join(f"\n    {line}" for line in text.splitlines()[-lines:])
    return f" The end of {log}:{last or ' (empty)'}"
