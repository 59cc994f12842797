"""Fixtures."""

import types
import pytest
from tests.contract.clients.backends import Backend
from tests.support.vendor import SimulatedVendor


@pytest.fixture
def backend() -> Backend:
    vendor = SimulatedVendor()
    yield Backend(types.SimpleNamespace(base_url=vendor.url, api_key="x"), vendor, "m")
    vendor.stop()
