"""Packages of npm, each installed once into .venv."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.settings import ROOT


def installed(package: str) -> Path:
    """Return the folder with a package, `name@version`; without npm, a laptop skips its tests."""
    npm = shutil.which("npm")
    if npm is None:
        assert "CI" not in os.environ, f"CI needs {package} of npm: install nodejs and npm"
        pytest.skip("no npm here")
    folder = ROOT / ".venv" / "node" / package
    name = package.rpartition("@")[0]
    if not (folder / "node_modules" / name / "package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([npm, "install", *quiet, package], cwd=folder, check=True)
    return folder
