"""What an operator does by the docs: the commands of a page, and files that are copied to /etc."""

import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from app.settings import ROOT

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

#: Runs as the user that it is, whoever was asked for: a test has no other users.
RUNUSER = '#!/bin/sh\nshift 3\nexec "$@"\n'


def commands(page: str, heading: str) -> list[str]:
    """Return the shell lines of a section of a page in docs/, in their order."""
    blocks = _BLOCK.findall(_section(page, heading))
    return [line for block in blocks for line in block.splitlines()]


def start_commands() -> list[str]:
    """Return the lines with which docs/deploying.md starts everything without systemd."""
    lines = re.findall(
        r"^    (\S.*)$", _section("deploying.md", "## Without systemd"), re.MULTILINE
    )
    assert lines[-1].startswith("tollgate start"), lines
    return lines


def _section(page: str, heading: str) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    level, title = heading.split(" ", 1)
    parts = re.split(rf"^{level} {re.escape(title)}$", text, flags=re.MULTILINE)
    assert len(parts) == 2, f"{page} has no section {heading}"
    return re.split(rf"^#{{2,{len(level)}}} ", parts[1], flags=re.MULTILINE)[0]


def adapted(text: str, changes: Mapping[str, str], *, all_of: bool = True) -> str:
    """Return a text with each key replaced; with `all_of`, each must be there."""
    for before, after in changes.items():
        assert not all_of or before in text, f"{before} is not in\n{text}"
        text = text.replace(before, after)
    return text


def program(path: Path, text: str) -> Path:
    """Write a program that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


class Operator:
    """Runs lines of the docs in a shell; `systemctl` does what the test says instead."""

    def __init__(
        self,
        tools: Path,
        env: Mapping[str, str],
        changes: Mapping[str, str],
        services: Mapping[str, Callable[[], None]],
    ) -> None:
        self._env = {**os.environ, **env, "PATH": f"{tools}:{os.environ['PATH']}"}
        self._changes = changes
        self._services = services
        self.outputs: dict[str, subprocess.CompletedProcess[str]] = {}
        program(tools / "runuser", RUNUSER)

    def does(self, lines: list[str]) -> None:
        """Run lines one after another; each of the shell's must succeed, but for `tollgate`'s."""
        for line in lines:
            if line.startswith("systemctl "):
                for action in self._actions(line):
                    action()
            else:
                self._run(line)

    def _actions(self, line: str) -> Iterator[Callable[[], None]]:
        verb, *units = line.split()[1:]
        for unit in units:
            yield self._services[f"{verb} {unit}"]

    def _run(self, line: str) -> None:
        done = subprocess.run(
            ["sh", "-c", adapted(line, self._changes, all_of=False)],
            env=self._env,
            capture_output=True,
            text=True,
            check=False,
        )
        self.outputs[line] = done
        if not line.startswith("tollgate "):
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
