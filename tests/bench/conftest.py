"""The bench vendor, as the benchmark starts it."""

import sys
from collections.abc import Iterator

import pytest

from app.devstack.stack import listen, port_of
from app.settings import ROOT
from bench.target import Target
from tests.support.processes import started


@pytest.fixture(scope="module")
def vendor() -> Iterator[Target]:
    """One vendor for a module."""
    with listen(0) as listener:
        command = [sys.executable, "-m", "bench.vendor", str(listener.fileno())]
        with started(command, cwd=ROOT, pass_fds=[listener.fileno()]) as process:
            yield Target("vendor", port_of(listener), "/v1/completions", process.pid)
