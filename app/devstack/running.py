"""What `tollgate dev` leaves for other terminals and commands: a file with its addresses and key.

It is a shell script: `. var/dev-env` sets the variables. It goes when `tollgate dev` ends.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import requests

from app.devstack.demo import DemoClient, DemoFailed

#: The file's name in the directory of `tollgate dev`.
DEV_ENV = "dev-env"
#: The variables that OpenAI's clients read: the base URL, and the key.
CLIENT_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_KEY")

HOW_DEV_DIFFERS = "It has the settings of the terminal that it was started in."

_EXPORT = "export "


def exports(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines that set variables in a shell."""
    for name, value in variables.items():
        yield f"{_EXPORT}{name}={shlex.quote(value)}"


@contextmanager
def left(path: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Have the variables in a file that only this user can read, until the context ends."""
    path.unlink(missing_ok=True)  # left over from one that was killed
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in exports(variables))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def read(path: Path) -> dict[str, str]:
    """Return the variables in a file; none if it is not there, or is not such a file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        words = [shlex.split(line.removeprefix(_EXPORT)) for line in lines]
    except (OSError, ValueError):
        return {}
    pairs = (line[0].partition("=") for line in words if len(line) == 1)
    return {name: value for name, is_pair, value in pairs if is_pair}


@dataclass(frozen=True, slots=True)
class RunningDev:
    """A `tollgate dev` that serves requests: what it has set, and the vendors that it can call."""

    base_url: str
    settings: Mapping[str, str]
    vendors: frozenset[str]

    @property
    def port(self) -> int | None:
        """The port that it listens on."""
        return urlsplit(self.base_url).port


def dev_env_path(env: Mapping[str, str]) -> Path:
    """Return where `tollgate dev` leaves its variables, with the same setting as this process."""
    return Path(env.get("TOLLGATE_VAR") or "var") / DEV_ENV


def running_dev(path: Path) -> RunningDev | None:
    """Return the `tollgate dev` that has left a file; None if there is none, or it is not ready."""
    variables = read(path)
    base_url, key = (variables.pop(name, None) for name in CLIENT_VARIABLES)
    if base_url is None or key is None:
        return None
    try:
        vendors = DemoClient(base_url, key).vendors()
    except (DemoFailed, requests.RequestException):  # it was killed, and the file remained
        return None
    return RunningDev(base_url, variables, frozenset(vendors))
