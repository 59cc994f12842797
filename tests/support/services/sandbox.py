"""The sandbox as a process, under the gunicorn configuration that every deployment uses."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from app.settings import CONFIG_DIR, ROOT
from tests.support.processes import started


@contextmanager
def running_sandbox() -> Iterator[str]:
    """Run a sandbox; yield its base URL."""
    # The socket listens before gunicorn starts, so that a first call just waits for it.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, descriptor = listener.getsockname()[1], listener.fileno()
        command = [sys.executable, "-m", "gunicorn", "-c", str(CONFIG_DIR / "gunicorn.conf.py")]
        command += ["--bind", f"fd://{descriptor}", "--graceful-timeout", "1"]
        command += ["app.sandbox.wsgi:app"]
        with started(command, cwd=ROOT, pass_fds=[descriptor]):
            yield f"http://127.0.0.1:{port}/v1"
