"""Packages of npm, each installed once into .venv."""

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
    names = [package.rpartition("@")[0] for package in packages]
    if not all((folder / "node_modules" / name / "package.json").exists() for name in names):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([npm, "install", *quiet, *packages], cwd=folder, check=True)
    return folder
