"""A simulator that nobody here wrote: npm's `@copilotkit/aimock`, which speaks many vendors' wires.

Its answers are scripted by the last message of the user; each request is kept in its journal.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.support.ports import free_port
from tests.support.processes import started
from tests.support.services.node_packages import installed
from tests.support.services.polling import wait_until

PACKAGE = "@copilotkit/aimock@1.43.0"


class AIMock:
    """The server on a port of its own."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            return requests.get(f"{self.url}/ready", timeout=5).ok
        except requests.ConnectionError:
            return False

    def journal(self) -> list[Any]:
        """Return the requests that it got, each with its body."""
        found: list[Any] = requests.get(f"{self.url}/__aimock/journal", timeout=5).json()
        return found

    def reset(self) -> None:
        """Forget its journal."""
        requests.delete(f"{self.url}/v1/_requests", timeout=5).raise_for_status()

    def chaos(self, **rates: float) -> None:
        """Set its own chaos: `dropRate`, `malformedRate`, `disconnectRate`, `rateLimitRate`."""
        address = f"{self.url}/__aimock/chaos"
        requests.delete(address, timeout=5).raise_for_status()
        if rates:
            requests.post(address, json=rates, timeout=5).raise_for_status()


@contextmanager
def aimock(root: Path, fixtures: list[Any]) -> Iterator[AIMock]:
    """Run it with these fixtures; without npm, a laptop skips its tests."""
    folder = installed(PACKAGE) / "node_modules" / "@copilotkit" / "aimock"
    script = root / "fixtures.json"
    script.write_text(json.dumps({"fixtures": fixtures}))
    port = free_port()
    command = ["node", str(folder / "dist" / "cli.js"), "-p", str(port), "-f", str(script)]
    with (root / "aimock.log").open("wb") as log:
        output = {"stdout": log, "stderr": subprocess.STDOUT}
        with started([*command, "--strict", "--validate-on-load"], **output):
            server = AIMock(port)
            wait_until(server.is_ready)
            yield server
