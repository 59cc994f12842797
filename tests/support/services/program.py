"""A client program in a process of its own: a line of JSON in, a line of JSON out."""

import json
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.processes import KILLED_S

#: How long a scene may take: it ends a hung client, and judges nothing.
SCENE_S = 60.0


class Program:
    """Runs `command` until it is closed; what it writes to stderr goes to `log`."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def run(self, scene: str, **given: Any) -> Any:
        """Run one of its scenes and return the result.

        Raises: AssertionError with the program's own error if the scene failed.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"scene": scene, **given}) + "\n")
        stdin.flush()
        ready, _, _ = select.select([stdout], [], [], SCENE_S)
        line = stdout.readline() if ready else ""
        assert line, f"{scene}: {self._log.read_text() or 'no result'}"
        found = json.loads(line)
        assert "failed" not in found, found["failed"]
        return found["result"]

    def close(self) -> None:
        """End the program: it ends when its input does."""
        try:
            self._process.communicate(timeout=KILLED_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate(timeout=KILLED_S)
