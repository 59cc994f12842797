"""The result of one check, and what a process does with it. Does not know what is checked."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

log = logging.getLogger(__name__)

#: `refused`: the process does not start. `down`: it starts, and waits for the service. `warning`:
#: it starts, but something needs attention.
State = Literal["ok", "warning", "down", "refused"]

#: Process types of the Procfile.
SERVING = ("web", "worker", "beat")
WEB = ("web",)
RELEASE = ("release",)


@dataclass(frozen=True, slots=True)
class Finding:
    """What was checked (a setting), its state, what is wrong and what to do, and for whom.

    `processes` are the process types that the finding is about. The message contains no secret.
    """

    subject: str
    state: State
    message: str
    processes: Sequence[str] = SERVING

    @property
    def line(self) -> str:
        """Subject and message: `PORT must be …`, or `REDIS_URL: the host …`."""
        joint = " " if self.message.startswith(("is ", "must ", "leads ")) else ": "
        return f"{self.subject}{joint}{self.message}"


def refused(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that keep a process from starting."""
    return [it for it in findings if it.state == "refused"]


def start_or_exit(findings: Iterable[Finding]) -> None:
    """Log what needs attention, and exit if the process must not start.

    Raises: SystemExit with code 1, after one line that names the first fault and counts the others.
    """
    found = list(findings)
    if faults := refused(found):
        more = len(faults) - 1
        rest = f" ({more} more: run `tollgate config check`)" if more else ""
        log.critical("cannot start: %s%s", faults[0].line, rest)
        raise SystemExit(1)
    for it in found:
        if it.state == "down":
            log.warning("starting although a service is down: %s", it.line)
