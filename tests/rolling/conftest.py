"""Fixtures: the older version, and an empty database of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rolling.versions import Version, missing, take_out
from tests.support.services.postgres import Postgres


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory) -> Version:
    """The older version; a checkout without its commit skips its tests."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    return take_out(tmp_path_factory.mktemp("older"))


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'rolling.db'}"
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    url = postgres.create("template0")
    yield url
    postgres.drop(url)
