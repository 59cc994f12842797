"""The Procfile's commands, run by this Python whatever PATH says."""

import os
import sys
from pathlib import Path

from app.settings import ROOT

MODULES = {"gunicorn": "gunicorn", "celery": "celery", "tollgate": "app.cli"}


def tool_env(directory: Path) -> dict[str, str]:
    """Make the commands in a new folder of a directory; return an environment that finds them."""
    tools = directory / "bin"
    tools.mkdir()
    for name, module in MODULES.items():
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        script.chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
