"""gunicorn's settings, read in a process of their own: reading them patches it."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from app.settings import CONFIG_DIR, ROOT

READ = """
import json, runpy, sys
settings = runpy.run_path(sys.argv[1])
import gevent, gevent.monkey
plain = {name: value for name, value in settings.items() if isinstance(value, (int, str, list))}
print(json.dumps(plain | {
    "threads": gevent.get_hub().threadpool.maxsize,
    "patched": gevent.monkey.is_module_patched("socket"),
}))
"""


def settings(**env: str) -> dict[str, Any]:
    """Return the settings in an environment."""
    found = subprocess.run(
        [sys.executable, "-c", READ, str(CONFIG_DIR / "gunicorn.conf.py")],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        check=True,
        text=True,
    )
    read: dict[str, Any] = json.loads(found.stdout)
    return read


def test_host_names_are_resolved_in_many_threads_and_nothing_else_blocks() -> None:
    read = settings()
    assert (read["threads"], read["patched"]) == (100, True)


def test_a_deployment_sets_port_processes_and_grace_time() -> None:
    read = settings(PORT="1234", WEB_CONCURRENCY="3", TOLLGATE_GRACE_S="5")
    assert (read["bind"], read["workers"]) == (["0.0.0.0:1234"], 3)
    assert read["graceful_timeout"] == 5 + 8


@pytest.mark.parametrize(
    ("bind", "address"),
    [
        ("", "0.0.0.0:8000"),
        ("127.0.0.1", "127.0.0.1:8000"),
        ("::1", "[::1]:8000"),
        ("[::]", "[::]:8000"),
        ("localhost", "localhost:8000"),
    ],
)
def test_a_deployment_sets_the_interface(bind: str, address: str) -> None:
    assert settings(BIND=bind, PORT="8000")["bind"] == [address]
