"""Where events go while Redis is down, and what happens if the spool fails, too."""

import logging
import os
from pathlib import Path

import pytest

from app.usage.disk.segments import Line, Segment
from app.usage.messages.event import UsageEvent
from app.usage.recording.fallback import SpoolFallback
from tests.support.events import usage_event


def spooled(directory: Path) -> list[Line]:
    paths = sorted(directory.glob("*.jsonl"))
    files = [Segment(path, os.open(path, os.O_RDONLY)) for path in paths]
    found = [line for file in files for line in file.lines()]
    for file in files:
        file.close()
    return found


def block(directory: Path) -> None:
    """Put a file where the directory should be, so that nothing can be written."""
    directory.write_text("in the way")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def test_an_event_goes_to_the_spool(directory: Path) -> None:
    fallback, event = SpoolFallback(directory, "o"), usage_event()
    fallback.write_event(event.event_id, event.encode())
    assert spooled(directory) == [("event", event.encode())]
    assert not fallback.is_empty
    assert fallback.unwritten == {}


def test_without_an_event_there_is_nothing_to_replay(directory: Path) -> None:
    assert SpoolFallback(directory, "o").is_empty


def test_an_event_that_cannot_be_spooled_is_logged_whole_and_kept(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    block(directory)
    fallback, event = SpoolFallback(directory, "o"), usage_event()
    fallback.write_event(event.event_id, event.encode())
    assert fallback.unwritten == {event.event_id: event.encode()}
    assert not fallback.is_empty
    line = next(r.getMessage() for r in caplog.records if "not recorded yet" in r.getMessage())
    assert UsageEvent.decode(line.partition(": ")[2].encode()) == event


def test_a_spool_that_fails_is_reported_once_until_it_works_again(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fallback = SpoolFallback(directory, "o")
    for _ in range(2):
        block(directory)
        assert [fallback.write("open", b"{}") for _ in range(3)] == [False] * 3
        directory.unlink()
        assert fallback.write("open", b"{}")
        for path in directory.iterdir():
            path.unlink()
        directory.rmdir()
    lines = [r for r in caplog.records if "nothing can be written to" in r.getMessage()]
    assert [line.levelno for line in lines] == [logging.ERROR] * 2


def test_kept_events_are_written_once_the_spool_works(directory: Path) -> None:
    block(directory)
    fallback, events = SpoolFallback(directory, "o"), [usage_event(), usage_event()]
    for event in events:
        fallback.write_event(event.event_id, event.encode())
    fallback.write_unwritten()
    assert len(fallback.unwritten) == 2
    directory.unlink()
    fallback.write_unwritten()
    assert fallback.unwritten == {}
    assert spooled(directory) == [("event", event.encode()) for event in events]
