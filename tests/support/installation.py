"""Processes of an installation, started as a file for operators says, and whether they serve."""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests

from app.settings import ROOT, Settings
from tests.support.gateway import vendor_table, with_account
from tests.support.processes import started
from tests.support.services.polling import wait_until

ASK = {"model": "sim/m", "prompt": "one two", "max_tokens": 5}


@dataclass(frozen=True, slots=True)
class Service:
    """A process: its command, and the whole environment that it gets."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path = ROOT

    def run(self, *more: str) -> "subprocess.CompletedProcess[str]":
        """Run it to its end."""
        return subprocess.run(
            [*self.argv, *more],
            cwd=self.cwd,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def started(
        self, log: Path, *, pass_fds: Sequence[int] = ()
    ) -> "Iterator[subprocess.Popen[bytes]]":
        """Run it; leaving the block ends it."""
        options = {"cwd": self.cwd, "env": self.env, "pass_fds": pass_fds}
        with (
            log.open("ab") as output,
            started(self.argv, stdout=output, stderr=output, **options) as process,
        ):
            yield process


def procfile() -> dict[str, list[str]]:
    """The command of each process type."""
    text = (ROOT / "Procfile").read_text(encoding="utf-8")
    lines = re.findall(r"^(\w+): (.+)$", text, re.MULTILINE)
    return {name: shlex.split(line.partition(" && ")[0]) for name, line in lines}


def example_settings(path: Path, **values: str) -> dict[str, str]:
    """Write .env.example to `path` with `values` instead of its own, and return what it sets."""
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    for name, value in values.items():
        text, found = re.subn(rf"^#?{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        text = text if found else f"{text}{name}={value}\n"
    path.write_text(text)
    return dict(re.findall(r"^([A-Z][A-Z0-9_]+)=(.*)$", text, re.MULTILINE))


def simulated(folder: Path, url: str) -> dict[str, str]:
    """The settings that lead to a simulated vendor at `url`."""
    table = folder / "vendors.toml"
    table.write_text(vendor_table(url))
    return {"TOLLGATE_VENDORS": str(table), "SIM_API_KEY": "sk-simulated-secret"}


def is_ready(port: int) -> bool:
    """Whether web processes are ready to serve, without an alarm.

    While they start, a socket that systemd would hold has the connection wait.
    """
    try:
        answer = requests.get(f"http://127.0.0.1:{port}/readyz", timeout=5)
    except requests.RequestException:
        return False
    return answer.status_code == 200 and answer.json()["alarms"] == {}


def counts_a_request(port: int, env: Mapping[str, str]) -> None:
    """Wait until web processes are ready; ask for a completion, and wait until it is posted."""
    wait_until(lambda: is_ready(port), deadline_s=120)
    with with_account(f"http://127.0.0.1:{port}/v5", Settings.from_env(env)) as gateway:
        assert gateway.post(ASK).status_code == 200
        wait_until(lambda: int(gateway.redis.get("usage:posted") or 0) == 1)
