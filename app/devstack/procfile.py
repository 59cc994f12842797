"""Runs the Procfile on one host: the release step first, then the other processes until one ends.

Their output goes where this process's goes. Each child has a session of its own, so that Ctrl-C
reaches only this process, which stops them in order.
"""

import logging
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from app.devstack.children import end_with, kill_group
from app.settings import ROOT

log = logging.getLogger(__name__)

PROCFILE = ROOT / "Procfile"

#: The line that runs before the others, and must succeed.
RELEASE = "release"

#: How often the children are checked, in seconds.
POLL_S = 0.1

_LINE = re.compile(r"^([\w-]+):[ \t]*(\S.*?)\s*$", re.MULTILINE)


def read_procfile(text: str) -> dict[str, str]:
    """Return the commands of a Procfile by the names of their processes, in its order."""
    return dict(_LINE.findall(text))


class ProcfileRun:
    """One run of a Procfile's commands in an environment.

    After SIGTERM, Ctrl-C or SIGHUP, the processes have `stop_s` seconds. After a second signal,
    they abort what they are doing, and have `abort_s` seconds. What still runs then is killed.
    """

    def __init__(
        self, commands: Mapping[str, str], env: Mapping[str, str], stop_s: float, abort_s: float
    ) -> None:
        self._commands = commands
        self._env = dict(env)
        self._stop_s = stop_s
        self._abort_s = abort_s
        self._signals = 0
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def run(self) -> int:
        """Run the release step and then the others; return the exit code.

        It is 0 if a signal stopped all of them in time, otherwise that of the process that ended.
        """
        others = [name for name in self._commands if name != RELEASE]
        if not others:
            log.error("%s names no process: each line must be `name: command`", PROCFILE)
            return 1
        with self._counting_signals():
            if RELEASE in self._commands:
                self._start(RELEASE)
                self._wait_for_an_end()
                if code := self._stop():
                    return code
            if self._signals:
                return 0
            for name in others:
                self._start(name)
            self._wait_for_an_end()
            was_asked = bool(self._signals)
            return self._stop() or int(not was_asked)

    def _start(self, name: str) -> None:
        parent = os.getpid()
        child = subprocess.Popen(  # noqa: S602  # the Procfile is ours
            f"exec {self._commands[name]}",  # no shell stays between this process and the command
            shell=True,
            cwd=ROOT,
            env=self._env,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: end_with(parent),  # noqa: PLW1509  # no threads here
        )
        self._children[name] = child
        log.info("started %s (process %s)", name, child.pid)

    def _running(self) -> dict[str, subprocess.Popen[bytes]]:
        return {name: it for name, it in self._children.items() if it.poll() is None}

    def _wait_for_an_end(self) -> None:
        """Wait until a child has ended, or a signal says that all shall end."""
        while not self._signals and len(self._running()) == len(self._children):
            time.sleep(POLL_S)  # between two checks; a service runs without a deadline

    def _stop(self) -> int:
        """Stop what runs, forget all children, and return the exit code."""
        code, signals = 0, self._signals
        running = self._running()
        for name in self._children.keys() - running.keys():
            code = self._children[name].returncode
            if running or code:
                log.error("%s has ended with code %s", name, code)
        for child in running.values():
            child.terminate()
        self._wait_for_all(self._stop_s, lambda: self._signals > signals)
        if self._signals > signals and (late := self._running()):
            log.warning("aborting what %s still does", ", ".join(late))
            for child in late.values():
                _signal_group(child.pid, signal.SIGQUIT)
            self._wait_for_all(self._abort_s, lambda: False)
        return self._end(code)

    def _wait_for_all(self, limit_s: float, condition: Callable[[], bool]) -> None:
        """Wait until no child runs, `condition` holds, or `limit_s` seconds are over."""
        deadline_s = time.monotonic() + limit_s
        while self._running() and not condition() and time.monotonic() < deadline_s:
            time.sleep(POLL_S)  # between two checks, with a deadline

    def _end(self, code: int) -> int:
        """Kill what is left of all children; return the exit code."""
        killed = self._running()
        for child in self._children.values():
            kill_group(child.pid)
            child.wait()
        self._children = {}
        if killed:
            log.error("killed %s", ", ".join(killed))
        # A process that a signal ended has a negative code.
        return code if code >= 0 and not killed else 1

    @contextmanager
    def _counting_signals(self) -> Iterator[None]:
        def count(*_: object) -> None:
            self._signals += 1

        numbers = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup says so
            numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, count) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        os.killpg(group, number)
