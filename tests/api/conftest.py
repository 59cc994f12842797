"""The usage and cost API under test."""

import dataclasses
from collections.abc import Iterator

import pytest

from app.settings import Settings
from tests.api.usage_site import Site, make_site
from tests.support.gateway import deployment
from tests.support.services.valkey import Valkey


@pytest.fixture
def site(settings: Settings) -> Iterator[Site]:
    """A site on an empty SQLite ledger."""
    site = make_site(settings)
    yield site
    site.close()


@pytest.fixture
def each_site(settings: Settings, database_url: str) -> Iterator[Site]:
    """A site on an empty ledger of each kind."""
    site = make_site(dataclasses.replace(settings, database_url=database_url))
    yield site
    site.close()


@pytest.fixture(scope="module")
def empty_site(valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site on a ledger that stays empty: for questions that change nothing."""
    folder = tmp_path_factory.mktemp("empty")
    site = make_site(deployment(folder, valkey.url, "http://127.0.0.1:1"))
    yield site
    site.close()
