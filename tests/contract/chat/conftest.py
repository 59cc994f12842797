"""Fixtures: one gateway for each test module, whose entries are all at one simulated vendor."""

from collections.abc import Iterator

import pytest

from tests.contract.chat.site import Site
from tests.contract.table import PATIENT, serving
from tests.support.services.valkey import Valkey
from tests.support.vendors.chat.rows import OVERLAYS


@pytest.fixture(scope="module")
def module_site(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Site]:
    """A gateway and its vendor, for all tests of a module."""
    root = tmp_path_factory.mktemp("chat")
    with serving(root, valkey.url, PATIENT, OVERLAYS) as (gateway, vendor):
        site = Site(gateway, vendor)
        yield site
        site.client.close()


@pytest.fixture
def site(module_site: Site) -> Site:
    """The same gateway, with all state reset."""
    module_site.clear()
    return module_site
