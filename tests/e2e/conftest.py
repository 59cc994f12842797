"""A whole deployment: gunicorn, a Celery worker with beat, Valkey, a ledger, a simulated vendor."""

from collections.abc import Iterator

import pytest

from tests.e2e.deployment import Candidate, deployed


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    """One deployment for all tests of a module."""
    with deployed(tmp_path_factory.mktemp("deployment")) as deployment:
        yield deployment


@pytest.fixture
def address(deployment: Candidate) -> tuple[str, int]:
    """Where it listens."""
    host, _, port = (
        deployment.gateway.base_url.removeprefix("http://").removesuffix("/v5").partition(":")
    )
    return host, int(port)


@pytest.fixture
def key(deployment: Candidate) -> str:
    """A header with a good key."""
    return f"x-api-key: {deployment.gateway.api_key}"
