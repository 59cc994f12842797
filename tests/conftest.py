"""Fixtures: the real services that tests run against."""

from collections.abc import Iterator

import pytest
from redis import Redis

from tests.services.valkey import Valkey
from tests.vendor import SimulatedVendor


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """One Valkey for the whole run."""
    server = Valkey(tmp_path_factory.mktemp("valkey"))
    yield server.start()
    server.stop()


@pytest.fixture
def redis_url(valkey: Valkey) -> str:
    """An empty Redis, as REDIS_URL spells it."""
    with Redis.from_url(valkey.url) as redis:
        redis.flushall()
    return valkey.url


@pytest.fixture
def vendor() -> Iterator[SimulatedVendor]:
    """A vendor that answers as the test says."""
    server = SimulatedVendor()
    yield server
    server.stop()
