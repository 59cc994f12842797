"""Fixture: the scripts that count limits."""

from collections.abc import Iterator

import pytest
from redis import Redis

from tests.admission.gate import Gate


@pytest.fixture
def gate(redis_url: str) -> Iterator[Gate]:
    """An empty Redis."""
    with Redis.from_url(redis_url) as redis:
        yield Gate(redis)
