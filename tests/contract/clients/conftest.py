"""Fixtures: each model in turn, behind a real web process; the clients for Node."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.clients.backends import VENDORS, Backend, tollgate
from tests.support.gateway import Gateway
from tests.support.services.node_packages import installed
from tests.support.services.program import Program
from tests.support.services.sandbox import running_sandbox
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

#: The newest that Debian's Node runs.
NODE_PACKAGES = ("openai@6", "ai@6", "@ai-sdk/openai@3", "@ai-sdk/openai-compatible@2", "zod@4")
NODE_SCENES = Path(__file__).parent / "programs" / "scenes.mjs"


@pytest.fixture(scope="package")
def served(
    tmp_path_factory: pytest.TempPathFactory, valkey: Valkey
) -> Iterator[tuple[Gateway, SimulatedVendor]]:
    """A Tollgate and the simulated vendor behind it."""
    root = tmp_path_factory.mktemp("clients")
    with running_sandbox() as sandbox_url, tollgate(root, valkey.url, sandbox_url) as served:
        yield served


@pytest.fixture(params=["sandbox", *VENDORS])
def backend(request: pytest.FixtureRequest, served: tuple[Gateway, SimulatedVendor]) -> Backend:
    """Each model in turn, without recorded usage."""
    gateway, vendor = served
    gateway.redis.flushall()
    vendor.asked.clear()
    return Backend(gateway, vendor, request.param)


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The scenes of clients for Node."""
    env = {**os.environ, "CLIENTS": f"{installed(*NODE_PACKAGES)}/"}
    program = Program(["node", str(NODE_SCENES)], env, tmp_path_factory.mktemp("node") / "log")
    yield program
    program.close()
