"""OpenAI's client for Node, installed once into .venv."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.services.node_packages import installed

#: The newest that Debian's Node runs.
PACKAGE = "openai@6"
SCRIPT = Path(__file__).with_name("ask.mjs")


def ask(base_url: str, key: str, body: Mapping[str, Any], env: Mapping[str, str]) -> Any:
    """Ask through the client; return its texts, and the name and message of what it threw."""
    ran = subprocess.run(
        ["node", str(SCRIPT), base_url, key, json.dumps(body)],
        env={**os.environ, **env, "CLIENTS": f"{installed(PACKAGE)}/"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(ran.stdout)
