"""Packages of npm, each installed once into .venv."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.settings import ROOT


def installed(*packages: str) -> Path:
    """Return the folder with packages, `name@version`; without npm, a laptop skips its tests."""
    npm = shutil.which("npm")
    if npm is None:
        assert "CI" not in os.environ, f"CI needs {packages[0]} of npm: install nodejs and npm"
        pytest.skip("no npm here")
    folder = ROOT / ".venv" / "node" / "+".join(packages).replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be installing it
        if not all(
            (folder / "node_modules" / name / "package.json").exists()
            for name in map(_name, packages)
        ):
            (folder / "package.json").write_text("{}")
            quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
            subprocess.run([npm, "install", *quiet, *packages], cwd=folder, check=True)
    return folder


def _name(package: str) -> str:
    """Return a package's name without its version."""
    return package.rpartition("@")[0]
