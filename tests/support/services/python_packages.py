"""Packages of PyPI that cannot share Tollgate's environment, each in one of its own in .venv."""

import shutil
import subprocess
import sys
from pathlib import Path

from app.settings import ROOT


def python_with(requirement: str) -> Path:
    """Return a Python that has a package; it is installed once."""
    folder = ROOT / ".venv" / "python" / requirement
    python, whole = folder / "bin" / "python", folder / "installed"
    if not whole.exists():  # it may have been interrupted
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, requirement], check=True)
        whole.touch()
    return python
