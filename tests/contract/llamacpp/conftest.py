"""Fixtures: a llama.cpp server for all tests here, and a Tollgate in front of it."""

from collections.abc import Iterator

import pytest

from tests.contract.llamacpp.served import Served, tollgate_before
from tests.support.services.llamacpp import LlamaCpp
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCpp]:
    """One server for all tests that do not change its state."""
    server = LlamaCpp(tmp_path_factory.mktemp("llamacpp"))
    yield server.start()
    server.kill()


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory, valkey: Valkey, server: LlamaCpp
) -> Iterator[Served]:
    """The server, with a Tollgate in front of it, which closes with its module."""
    with tollgate_before(server, tmp_path_factory.mktemp("gateway"), valkey.url) as served:
        yield served


@pytest.fixture
def served(both: Served) -> Served:
    """Both, without recorded usage and with all slots free."""
    both.gateway.redis.flushall()
    wait_until(lambda: not both.server.busy)
    return both
