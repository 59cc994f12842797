"""A gateway whose vendors are the sandbox, in a thread, and the simulated one."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from werkzeug.serving import make_server

from app.sandbox.wsgi import app as sandbox
from app.settings import Settings
from tests.support.gateway import Gateway, running


@pytest.fixture
def sandbox_url() -> Iterator[str]:
    """The base URL of a sandbox in threads of this process."""
    server = make_server("127.0.0.1", 0, sandbox, threaded=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    yield f"http://127.0.0.1:{server.port}/v1"
    server.shutdown()
    server.server_close()


@pytest.fixture
def gateway(settings: Settings, sandbox_url: str) -> Iterator[Gateway]:
    """A Tollgate served by threads of this process, with an account `acme`."""
    env = {**settings.env, "TOLLGATE_SANDBOX_URL": sandbox_url}
    with running(replace(settings, env=env)) as gateway:
        yield gateway
