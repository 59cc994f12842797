"""The command line under test."""

from collections.abc import Iterator

import pytest

from app.storage.sql.engine import create_engine
from tests.cli.command import Tollgate


@pytest.fixture
def tollgate(database_url: str) -> Iterator[Tollgate]:
    """The command line, on each kind of ledger."""
    engine = create_engine(database_url)
    yield Tollgate(database_url, engine)
    engine.dispose()
