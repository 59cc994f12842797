"""Fixtures: a client of an empty Redis, and a Valkey of a test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from app.storage.redis.connection import connect
from tests.support.services.valkey import Valkey


@pytest.fixture
def redis(redis_url: str) -> Iterator["Redis"]:
    """A client of an empty Redis, or of what the module says that `redis_url` is."""
    with connect(redis_url, timeout_s=30.0) as client:
        yield client


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey of the test's own, to stop and change; it keeps what it has."""
    directory = tmp_path / "valkey"
    directory.mkdir()
    server = Valkey(directory, persistent=True).start()
    yield server
    server.kill()
