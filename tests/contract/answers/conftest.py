"""Fixtures: one gateway for each test module; each test begins without recorded usage."""

from collections.abc import Iterator

import pytest

from tests.contract.answers.site import Site, serving
from tests.support.services.valkey import Valkey


@pytest.fixture(scope="module")
def module_site(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Site]:
    """A gateway and its vendor, for all tests of a module."""
    with serving(tmp_path_factory.mktemp("answers"), valkey.url) as site:
        yield site


@pytest.fixture
def site(module_site: Site) -> Site:
    """The same gateway, with all state reset."""
    module_site.clear()
    return module_site
