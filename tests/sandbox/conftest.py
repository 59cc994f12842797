"""The sandbox as a process, under the gunicorn configuration that every deployment uses."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from app.settings import CONFIG_DIR, ROOT
from tests.support.processes import end


@pytest.fixture(scope="session")
def sandbox_url() -> Iterator[str]:
    """The base URL of a running sandbox."""
    # The socket listens before gunicorn starts, so that a first call just waits for it.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        command = [sys.executable, "-m", "gunicorn", "-c", str(CONFIG_DIR / "gunicorn.conf.py")]
        command += ["--bind", f"fd://{listener.fileno()}", "--graceful-timeout", "1"]
        command += ["app.sandbox.wsgi:app"]
        server = subprocess.Popen(command, cwd=ROOT, pass_fds=[listener.fileno()])
    yield f"http://127.0.0.1:{port}/v1"
    end(server)
