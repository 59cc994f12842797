"""Web processes as in production, and under coverage where the tests are."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fuzz.wire import Said, connect, exchange, request
from tests.support.gateway import gunicorn
from tests.support.measured import measured
from tests.support.services.polling import wait_until


@dataclass(frozen=True)
class Web:
    """A web process: gunicorn's master and its one worker, which serve the probe."""

    address: tuple[str, int]
    master: int
    worker: int
    log: Path

    def get(self, path: str) -> Said:
        """Return what a request is answered."""
        return exchange(self.address, [request(path, method="GET")])

    def open(self, path: str) -> socket.socket:
        """Return a connection on which a request has been sent."""
        sock = connect(self.address)
        sock.sendall(request(path, method="GET"))
        return sock

    def shut_down(self, by: signal.Signals = signal.SIGTERM) -> str:
        """Tell it to shut down, wait until it has, and return its log."""
        os.kill(self.master, by)
        return self.ended()

    def ended(self) -> str:
        """Wait until the worker has exited, and return the log."""
        wait_until(lambda: not runs(self.worker))
        return self.log.read_text()


def runs(pid: int) -> bool:
    """Whether a process has not exited."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def serving_probe(log: Path, **env: str) -> Iterator[Web]:
    """Serve the probe, measured, without grace time."""
    env = {"TOLLGATE_GRACE_S": "0", **env, **measured()}
    with gunicorn(env, log, "tests.server.probe:app") as (url, master):
        host, _, port = url.removeprefix("http://").removesuffix("/v5").partition(":")
        children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        yield Web((host, int(port)), master, int(children[0]), log)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """A web process of the test's own, which may shut it down."""
    with serving_probe(tmp_path / "web.log") as web:
        yield web


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A web process for the tests of a module that leave it as it is."""
    with serving_probe(tmp_path_factory.mktemp("web") / "web.log") as web:
        yield web
