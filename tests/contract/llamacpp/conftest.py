"""Fixtures: a llama.cpp server for all tests here, and Tollgate before it."""

from collections.abc import Iterator

import pytest

from tests.contract.llamacpp.served import Served, tollgate_before
from tests.support.services.llamacpp import LlamaCpp
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCpp]:
    """One server for all tests that leave it as it was."""
    server = LlamaCpp(tmp_path_factory.mktemp("llamacpp"))
    yield server.start()
    server.kill()


@pytest.fixture(scope="package")
def both(
    tmp_path_factory: pytest.TempPathFactory, valkey: Valkey, server: LlamaCpp
) -> Iterator[Served]:
    """It, and a Tollgate before it."""
    with tollgate_before(server, tmp_path_factory.mktemp("gateway"), valkey.url) as served:
        yield served


@pytest.fixture
def served(both: Served) -> Served:
    """Both; nothing has been recorded yet, and no slot is in use."""
    both.gateway.redis.flushall()
    wait_until(lambda: not both.server.busy)
    return both
