"""A real Celery worker for tests, with beat inside it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.settings import ROOT
from tests.support.processes import KILLED_S, ended
from tests.support.services.polling import wait_until

#: As in the Procfile: the worker does not look for other workers.
ALONE = ("--without-gossip", "--without-mingle")


class CeleryWorker:
    """One worker in a process group of its own; it may be started again after its end.

    `options`: further options of the command, such as `ALONE`.
    """

    def __init__(self, log_file: Path, env: Mapping[str, str], options: Sequence[str] = ()) -> None:
        self._log_file = log_file
        self._options = options
        self._env = {**os.environ, **env}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "CeleryWorker":
        """Start the worker and wait until it says that it is ready."""
        lines = self.log().count(" ready.")
        command = [sys.executable, "-m", "celery", "-A", "workers.celery_app", "worker", "-B"]
        with self._log_file.open("ab") as log:
            self._process = process = subprocess.Popen(
                [*command, "--loglevel", "info", *self._options],
                cwd=ROOT,
                env=self._env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(lambda: process.poll() is not None or self.log().count(" ready.") > lines)
        if process.poll() is not None:
            raise RuntimeError(self.log())
        return self

    def log(self) -> str:
        """What it has written so far."""
        return self._log_file.read_text() if self._log_file.exists() else ""

    def pause(self) -> None:
        """Stop every process of the worker where it is."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """Have them go on."""
        self._signal_all(signal.SIGCONT)

    def kill(self) -> None:
        """End every process of the worker at once; none may clean up."""
        if self._process is not None:
            self._signal_all(signal.SIGKILL)
            self._process.wait(KILLED_S)
            self._process = None

    def stop(self) -> int:
        """Ask every process of the worker to leave, as platforms do; return its exit status."""
        assert self._process is not None, "the worker has not been started"
        self._signal_all(signal.SIGTERM)
        return ended(self._process)

    def _signal_all(self, by: signal.Signals) -> None:
        assert self._process is not None, "the worker has not been started"
        os.killpg(self._process.pid, by)
