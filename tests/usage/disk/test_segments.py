"""Files that outlive their process: who may have them, and what is read of them."""

import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.usage.disk import segments
from app.usage.disk.segments import Segment, begin, line_of, lock, orphans

SUFFIX = ".jsonl"
LINES = line_of("open", b'{"n":1}') + line_of("event", b'{"n":2}')


def test_a_file_is_locked_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process adopts only what it can lock; an empty file would be gone for its writer."""
    rename, seen = os.rename, list[Segment | None]()

    def renamed(source: Path, target: Path) -> None:
        assert list(orphans(tmp_path, "other", SUFFIX)) == []
        seen.append(lock(source))
        rename(source, target)

    monkeypatch.setattr(os, "rename", renamed)
    segment = begin(tmp_path, "me", 1, SUFFIX, sync=True)
    assert seen == [None]
    assert list(orphans(tmp_path, "other", SUFFIX)) == []
    segment.append(LINES, sync=True)
    segment.close()
    ((found,),) = orphans(tmp_path, "other", SUFFIX)
    assert list(found.lines()) == [("open", b'{"n":1}'), ("event", b'{"n":2}')]
    assert (found.owner, found.number) == ("me", 1)


@contextmanager
def one_more_file() -> Iterator[None]:
    """Let this process open one more file, and no second one."""
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_files_that_a_process_without_descriptors_could_not_take_are_taken_later(
    tmp_path: Path,
) -> None:
    for number in (1, 2):
        begin(tmp_path, "gone", number, SUFFIX, sync=True).close()
    found = orphans(tmp_path, "other", SUFFIX)
    with one_more_file(), pytest.raises(OSError, match="Too many open files"):
        next(found)
    ((first, second),) = orphans(tmp_path, "other", SUFFIX)
    assert (first.number, second.number) == (1, 2)


def test_a_file_that_was_removed_before_it_was_locked_is_not_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path, "gone", 1, SUFFIX, sync=True).close()
    path, flock = tmp_path / "gone.1.jsonl", fcntl.flock

    def removed_first(file: int, operation: int) -> None:
        path.unlink()
        path.write_bytes(LINES)  # another file of the same name
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    assert lock(path) is None
    monkeypatch.setattr(fcntl, "flock", flock)
    assert lock(tmp_path / "nowhere.1.jsonl") is None
    assert lock(path) is not None


def test_a_file_that_vanishes_is_still_read_and_its_heir_is_not_removed(tmp_path: Path) -> None:
    segment = begin(tmp_path, "me", 1, SUFFIX, sync=True)
    segment.append(LINES, sync=False)
    segment.path.unlink()
    assert segment.is_removed
    segment.path.write_bytes(b"of somebody else")
    assert segment.is_removed
    assert len(list(segment.lines())) == 2
    segment.remove()
    assert (tmp_path / "me.1.jsonl").read_bytes() == b"of somebody else"


def test_files_of_one_process_are_adopted_together_and_in_the_order_of_writing(
    tmp_path: Path,
) -> None:
    for number in (10, 9, 1):
        begin(tmp_path, "dead", number, SUFFIX, sync=True).close()
    held = lock(tmp_path / "dead.9.jsonl")
    assert held is not None
    assert list(orphans(tmp_path, "me", SUFFIX)) == []
    held.close()
    (found,) = orphans(tmp_path, "me", SUFFIX)
    assert [segment.number for segment in found] == [1, 9, 10]
    assert list(orphans(tmp_path, "me", ".journal")) == []


def test_lines_longer_than_one_read_are_whole(tmp_path: Path) -> None:
    long = b'{"text":"%s"}' % (b"x" * (segments.READ_BYTES * 2))
    segment = begin(tmp_path, "me", 1, SUFFIX, sync=True)
    segment.append(line_of("event", long) + line_of("event", b"{}"), sync=False)
    assert list(segment.lines()) == [("event", long), ("event", b"{}")]
