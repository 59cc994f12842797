"""What was logged of alarms is known to all processes that share a file."""

from collections.abc import Iterator
from tempfile import TemporaryFile

import pytest

from app.observability.raised_alarms import RaisedAlarms


@pytest.fixture
def file() -> Iterator[int]:
    with TemporaryFile() as opened:
        yield opened.fileno()


def test_an_alarm_is_new_once_for_all_that_share_a_file(file: int) -> None:
    one, other = RaisedAlarms(file), RaisedAlarms(file)
    assert one.replace(["redis", "dead"]) == (["dead", "redis"], [])
    assert other.replace(["redis"]) == ([], ["dead"])
    assert one.replace([]) == ([], ["redis"])
    assert other.replace(["dead"]) == (["dead"], [])


def test_without_a_file_each_knows_its_own() -> None:
    one, other = RaisedAlarms(), RaisedAlarms()
    assert one.replace(["redis"]) == other.replace(["redis"]) == (["redis"], [])
    assert one.replace(["redis"]) == ([], [])
