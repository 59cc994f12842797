"""A process under test, with its children: started, killed, stopped, paused, started again."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from app.settings import ROOT
from tests.support.processes import KILLED_S


class Process:
    """One `python -m …` and its children, in a process group of their own.

    `root` is the directory of the source that it runs.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        env: Mapping[str, str],
        log: Path,
        root: Path = ROOT,
    ) -> None:
        self.name = name
        self.log = log
        self._root = root
        self._command = [sys.executable, "-m", *command]
        self._env = {**os.environ, **env}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, more_env: Mapping[str, str] | None = None) -> None:
        """Start, unless it runs."""
        if self._process is not None and self._process.poll() is None:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._root,
                env={**self._env, **(more_env or {})},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The parent's pid."""
        assert self._process is not None, f"{self.name} has not been started"
        return self._process.pid

    @property
    def children(self) -> list[int]:
        """Its children's pids, those that do the work."""
        try:
            found = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        except FileNotFoundError:
            return []
        return [int(pid) for pid in found]

    def kill_child(self, dice: random.Random) -> None:
        """Kill one child; the parent has another one do its work."""
        if children := self.children:
            send(signal.SIGKILL, dice.choice(children))

    def kill(self) -> None:
        """Kill all of them at once."""
        self._signal_all(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(KILLED_S)

    def leave(self) -> None:
        """Send SIGTERM, as a platform does, and do not wait."""
        send(signal.SIGTERM, self.pid)

    def pause(self) -> None:
        """Pause all of them."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume them."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, by: signal.Signals) -> None:
        try:
            os.killpg(self.pid, by)
        except ProcessLookupError:
            return


def send(by: signal.Signals, pid: int) -> None:
    """Send a signal to a process that may have exited already."""
    try:
        os.kill(pid, by)
    except ProcessLookupError:
        return
