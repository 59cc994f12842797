"""The two versions: an older commit, taken out of git, and the present checkout."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from app.settings import ROOT

#: The older version: the last commit whose events and open records have no numbers. Its workers
#: post numbered events of newer web processes without noting the numbers, and its web processes
#: give none. If a later change to what processes share is as large, move this to the commit before.
OLDER = "0e90954ad65abcbaaaa7cb27ba38919fee1ca8f2"

#: What runs.
_PACKAGES = ("app", "workers")
_PARTS = (*_PACKAGES, "config")

#: What each process of the older version writes to its log when it imports Tollgate.
MARK = "the older version runs: "

#: How long a command may take, in seconds: far more than it takes, for slow hosts.
COMMAND_S = 120


@dataclass(frozen=True)
class Version:
    """One version: the directory of its source."""

    name: str
    root: Path

    @property
    def env(self) -> dict[str, str]:
        """What has Python import this version, although the other one may be installed."""
        return {**os.environ, "PYTHONPATH": str(self.root)}

    def run(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run `python ARGUMENTS` and return its result, whatever its exit code."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**self.env, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_S,
        )

    def output_of(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """Run `python ARGUMENTS`, which must succeed, and return what it prints."""
        result = self.run(*arguments, env=env)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def tollgate(self, *arguments: str, env: Mapping[str, str]) -> str:
        """Run a command of `tollgate`, which must succeed, and return what it prints."""
        return self.output_of("-m", "app.cli", *arguments, env=env)


NEWER = Version("newer", ROOT)


def missing() -> str | None:
    """Return why the older version cannot be taken out of git; None if it can."""
    try:
        found = _git("cat-file", "-e", f"{OLDER}^{{commit}}")
    except FileNotFoundError:
        return "git is not installed"
    if found.returncode == 0:
        return None
    why = found.stderr.decode().strip()
    return f"no commit {OLDER[:7]} here (no repository, or a shallow clone): {why}"


def take_out(directory: Path) -> Version:
    """Write the older version's source to a directory.

    Its packages get one line more, which marks the logs of the processes that run them.
    """
    archive = _git("archive", "--format=tar", OLDER, *_PARTS)
    assert archive.returncode == 0, archive.stderr.decode()
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(directory, filter="data")
    for package in _PACKAGES:
        with (directory / package / "__init__.py").open("a") as module:
            module.write(f"\n__import__('sys').stderr.write({MARK!r} + __file__ + '\\n')\n")
    return Version("older", directory)


def _git(*arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, check=False, timeout=COMMAND_S
    )
