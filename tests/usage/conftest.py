"""Fixture: the recorder of a web process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.usage.recording.recorder import Recorder
from tests.support.services.valkey import Valkey
from tests.usage.recording.steps import recorder_of


@pytest.fixture
def spooling(own_valkey: Valkey, tmp_path: Path) -> Iterator[Recorder]:
    """The recorder of a web process that keeps no journal."""
    books = recorder_of(own_valkey, tmp_path, keeps_journal=False)
    yield books
    books.close()


@pytest.fixture
def books(own_valkey: Valkey, tmp_path: Path) -> Iterator[Recorder]:
    """The recorder of one web process."""
    books = recorder_of(own_valkey, tmp_path)
    yield books
    books.close()
