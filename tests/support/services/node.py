"""OpenAI's client for Node, installed once into .venv."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.settings import ROOT

#: The newest that Debian's Node runs.
PACKAGE = "openai@6"
FOLDER = ROOT / ".venv" / "node" / PACKAGE
SCRIPT = Path(__file__).with_name("ask.mjs")


def installed() -> Path:
    """Return where the client is; without Node or npm, a laptop skips its tests."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        assert "CI" not in os.environ, "CI asks through Node's client: install nodejs and npm"
        pytest.skip("no Node here")
    if not (FOLDER / "node_modules" / "openai" / "package.json").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / "package.json").write_text("{}")
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([npm, "install", *quiet, PACKAGE], cwd=FOLDER, check=True)
    return FOLDER


def ask(base_url: str, key: str, body: Mapping[str, Any], env: Mapping[str, str]) -> Any:
    """Ask through the client; return its texts, and the name and message of what it threw."""
    ran = subprocess.run(
        ["node", str(SCRIPT), base_url, key, json.dumps(body)],
        env={**os.environ, **env, "CLIENTS": f"{installed()}/"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(ran.stdout)
