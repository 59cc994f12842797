"""The second copy of what Redis has: what is kept, for how long, and who takes it over."""

import logging
import os
from pathlib import Path

import pytest

from app.usage.disk import journal as journal_module
from app.usage.disk.journal import Journal
from app.usage.numbers import with_numbers
from tests.usage.disk.kept import event, ids, opened, posted


@pytest.fixture
def live() -> set[str]:
    return set()


@pytest.fixture
def journal(tmp_path: Path, live: set[str]) -> Journal:
    return Journal(tmp_path, "me", live.__contains__)


def test_events_are_kept_until_they_are_posted(journal: Journal) -> None:
    journal.write([opened(1), event(1), event(2)])
    journal.write([event(3)])
    assert ids(journal) == ["event e1", "event e2", "event e3"]
    journal.forget(posted(1, 3))
    assert ids(journal) == ["event e2"]
    journal.forget({"other": with_numbers((), [(2, 1)])})
    assert ids(journal) == ["event e2"]


def test_what_ended_processes_had_open_is_kept_until_it_is_posted(
    journal: Journal, tmp_path: Path
) -> None:
    journal.write([opened(1, "ended"), opened(2), event(2)])
    assert ids(journal) == ["open e1", "event e2"]
    journal.forget(posted(2))
    assert ids(journal) == ["open e1"]
    journal.forget({"ended": with_numbers((), [(1, 1)])})
    assert ids(journal) == []
    journal.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_segment_is_removed_once_it_is_posted_and_open_records_move_on(
    journal: Journal, live: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "SEGMENT_BYTES", 2_000)
    live.add("e1")
    journal.write([opened(1)])
    for number in range(2, 12):
        journal.write([opened(number), event(number)])
    assert len(list(tmp_path.iterdir())) > 2
    journal.forget(posted(*range(2, 12)))
    (left,) = tmp_path.iterdir()
    text = left.read_text()
    assert '"e1"' in text  # the request under way
    assert text.count('{"open"') - text.count('{"event"') == 1


def test_a_process_that_ends_with_everything_posted_leaves_nothing(
    journal: Journal, tmp_path: Path
) -> None:
    journal.write([opened(1), event(1)])
    journal.forget(posted(1))
    journal.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_once_and_later_events_are_kept(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    journal.write([event(1)])
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, lines: write(file, lines[:7]))
        for number in (2, 3):
            journal.write([event(number)])
        assert journal.fault == "nothing can be written to it (No space left on device)"
    journal.write([event(4)])
    assert ids(journal) == ["event e1", "event e4"]
    faults = [journal.fault]
    assert faults == [None]
    reports = [it for it in caplog.records if it.levelno == logging.ERROR]
    assert len(reports) == 1


def test_beyond_its_size_the_oldest_events_go_and_that_is_told_until_they_are_posted(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "SEGMENT_BYTES", 2_000)
    monkeypatch.setattr(journal_module, "JOURNAL_BYTES", 6_000)
    for number in range(1, 41):
        journal.write([event(number)])
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 10_000
    assert journal.fault == "it is full, and its oldest events were removed"
    assert ids(journal)[-1] == "event e40"
    journal.forget(posted(*range(1, 41)))
    assert journal.fault is None


def test_a_removed_directory_is_made_again(journal: Journal, tmp_path: Path) -> None:
    journal.write([event(1)])
    for path in tmp_path.iterdir():
        path.unlink()
    journal.renew()
    journal.write([event(2)])
    assert ids(journal) == ["event e1", "event e2"]
    assert len(list(tmp_path.iterdir())) == 1
