"""Fixtures: each model in turn, behind a real web process."""

from collections.abc import Iterator

import pytest

from tests.contract.clients.backends import VENDORS, Backend, tollgate
from tests.support.gateway import Gateway
from tests.support.services.sandbox import running_sandbox
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor


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
