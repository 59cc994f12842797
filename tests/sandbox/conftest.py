"""The sandbox as a process."""

from collections.abc import Iterator

import pytest

from tests.support.services.sandbox import running_sandbox


@pytest.fixture(scope="session")
def sandbox_url() -> Iterator[str]:
    """The base URL of a running sandbox."""
    with running_sandbox() as url:
        yield url
