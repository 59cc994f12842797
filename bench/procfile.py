"""Reads the commands of the Procfile."""

import shlex
import sys
from pathlib import Path

from app.settings import ROOT


def command(process: str) -> list[str]:
    """Return the words of a process's line, with the program of this Python's environment."""
    return parse((ROOT / "Procfile").read_text(), process)


def parse(procfile: str, process: str) -> list[str]:
    """Return the words of a process's line in a Procfile.

    Raises: KeyError if there is no such process.
    """
    lines = dict(line.split(": ", 1) for line in procfile.splitlines() if line)
    program, *arguments = shlex.split(lines[process])
    return [str(Path(sys.executable).with_name(program)), *arguments]
