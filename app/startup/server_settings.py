"""What gunicorn needs: address, number of processes, grace time, a directory for its files."""

import errno
import os
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

#: Longest wait for a port that another process is about to release, in seconds.
PORT_WAIT_S = 1.0
_POLL_S = 0.1

#: Unless BIND names one.
ALL_INTERFACES = "0.0.0.0"  # noqa: S104

_MEMORY = "/dev/shm"  # noqa: S108


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Address, number of web processes, and seconds for requests in flight after SIGTERM.

    `interface` is the name or address of the interface that web processes listen on.
    """

    port: int = 8000
    processes: int = 1
    grace_s: int = 20
    interface: str = ALL_INTERFACES

    @property
    def address(self) -> str:
        """The interface and the port, as gunicorn takes them."""
        return (
            f"[{self.interface}]:{self.port}"
            if ":" in self.interface
            else (f"{self.interface}:{self.port}")
        )


#: Field -> environment variable, its smallest and its largest value.
_VARIABLES: Mapping[str, tuple[str, int, int]] = {
    "port": ("PORT", 1, 65_535),
    "processes": ("WEB_CONCURRENCY", 1, 1_000),
    "grace_s": ("TOLLGATE_GRACE_S", 0, 86_400),
}


def read_server_settings(
    env: Mapping[str, str] = os.environ,
) -> tuple[ServerSettings, dict[str, str]]:
    """Return the settings, with the default of each invalid one, and the problems by variable."""
    values, problems = dict[str, int](), dict[str, str]()
    for name, (variable, least, most) in _VARIABLES.items():
        if not (text := env.get(variable)):
            continue
        number = int(text) if text.isascii() and text.isdigit() else -1
        if least <= number <= most:
            values[name] = number
        else:
            problems[variable] = f"must be a whole number from {least} to {most}, not {text!r}"
    interface = env.get("BIND", "").strip("[]") or ALL_INTERFACES
    return ServerSettings(**values, interface=interface), problems


def temporary_directory() -> str | None:
    """Return where gunicorn's heartbeat files and the metrics are: in memory, if that can be used.

    None stands for the system's directory for temporary files.
    """
    return _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else None


def directory_fault(directory: str | None) -> str | None:
    """Return why gunicorn and the metrics cannot use a directory; None if they can.

    None stands for the system's directory for temporary files.
    """
    try:
        with tempfile.TemporaryFile(dir=directory):
            return None
    except OSError as exc:
        where = directory or "TMPDIR"
        return (
            f"files cannot be created in {where} ({exc.strerror or exc}): set TMPDIR, or"
            " `--worker-tmp-dir` in GUNICORN_CMD_ARGS, to a directory that can be written"
        )


@dataclass(frozen=True, slots=True)
class AddressFault:
    """Why a web process cannot listen on an address, in words.

    `variable` is what to change: BIND if this host has no such address, otherwise PORT.
    """

    words: str
    variable: Literal["BIND", "PORT"]


def address_fault(host: str, port: int, wait_s: float = PORT_WAIT_S) -> AddressFault | None:
    """Return why a web process cannot listen on an address; None if it can.

    If another process listens there, wait for it to exit for `wait_s` seconds.
    """
    deadline_s = time.monotonic() + wait_s
    while (error := _bind_error(host, port)) is not None:
        if error.errno != errno.EADDRINUSE or time.monotonic() >= deadline_s:
            of_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
            return AddressFault(error.strerror or str(error), "PORT" if of_port else "BIND")
        time.sleep(_POLL_S)  # between two attempts, with a deadline
    return None


def _bind_error(host: str, port: int) -> OSError | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does
        try:
            probe.bind((host, port))
        except OSError as exc:
            return exc
        except (UnicodeError, TypeError):  # Python cannot encode the name
            return OSError(errno.EADDRNOTAVAIL, "it is not a host name")
    return None
