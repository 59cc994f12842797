import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.usage.disk import spool as spool_module
from app.usage.disk.segments import Line, Segment, lock
from app.usage.disk.spool import (
    Spool,
    SpoolFile,
    foreign_files,
    spool_fault,
    spool_files,
    spooled_bytes,
)
from tests.support.processes import end, started

#: Holds a spool with one line until its stdin closes, or it is killed.
HOLDER = """
import sys
from pathlib import Path
from app.usage.disk.spool import Spool
spool = Spool(Path(sys.argv[1]), "dead-1")
spool.append("open", b'{"n":1}')
print("ready", flush=True)
sys.stdin.read()
"""


def lines(segment: Segment) -> list[Line]:
    return list(segment.lines())


def test_appended_lines_are_read_in_order_and_removed(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "new" / "spool", "me")
    assert list(spool.segments()) == []
    spool.append("open", b'{"n":1}')
    spool.append("event", b'{"n":2}')
    for segment in spool.segments():
        assert lines(segment) == [("open", b'{"n":1}'), ("event", b'{"n":2}')]
        assert segment.path.stat().st_mode & 0o777 == 0o600
        spool.append("event", b'{"n":3}')
    assert [lines(segment) for segment in spool.segments()] == [[("event", b'{"n":3}')]]
    assert spool.is_empty
    assert list((tmp_path / "new" / "spool").iterdir()) == []


def test_a_file_that_could_not_be_replayed_stays(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "me")
    spool.append("event", b'{"n":1}')
    for _ in spool.segments():
        break  # as if Redis failed again
    assert [lines(segment) for segment in spool.segments()] == [[("event", b'{"n":1}')]]


def test_a_large_spool_is_several_files_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "SEGMENT_BYTES", 100)
    spool = Spool(tmp_path, "me")
    for number in range(50):
        spool.append("event", b'{"n":%d}' % number)
    found = [line for segment in spool.segments() for line in lines(segment)]
    assert found == [("event", b'{"n":%d}' % number) for number in range(50)]


@given(st.integers(0, 60))
def test_a_line_that_was_torn_by_a_crash_is_left_out(cut: int) -> None:
    whole = b'{"open":{"n":1}}\n{"event":{"n":2}}\n{"event":{"text":"}}"}}\n'
    path = Path(f"/tmp/torn-{os.getpid()}")  # noqa: S108 - hypothesis gives no fixture
    path.write_bytes(whole[:cut])
    complete = whole[:cut].count(b"\n")
    try:
        segment = lock(path)
        assert segment is not None
        assert len(lines(segment)) == complete
        segment.close()
    finally:
        path.unlink()


def test_a_full_disk_is_reported_and_spoils_no_later_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path, "me")
    spool.append("event", b'{"n":1}')
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:5]))
    with pytest.raises(OSError, match="space") as caught:
        spool.append("event", b'{"n":2}')
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.setattr(os, "write", write)
    spool.append("event", b'{"n":3}')
    assert [lines(segment) for segment in spool.segments()] == [
        [("event", b'{"n":1}'), ("event", b'{"n":3}')]
    ]


def test_a_dead_process_files_are_adopted_by_one_and_a_living_ones_are_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        mine, other = Spool(tmp_path, "me"), Spool(tmp_path, "other")
        assert list(mine.orphans()) == []
        end(holder, signal.SIGKILL)
    for paths in mine.orphans():
        assert [lines(segment) for segment in paths] == [[("open", b'{"n":1}')]]
        assert list(other.orphans()) == []
    assert list(tmp_path.iterdir()) == []
    assert list(other.orphans()) == []


def test_the_files_of_all_processes_are_listed_with_their_orphans(
    tmp_path: Path,
) -> None:
    assert spool_files(tmp_path / "nowhere") == []
    living = Spool(tmp_path, "living")
    living.append("event", b"{}")
    (tmp_path / "dead.1.jsonl").write_bytes(b'{"event":{}}\n')
    (tmp_path / "other.txt").write_bytes(b"")
    line = len(b'{"event":{}}\n')
    for _ in range(2):  # a look changes nothing
        assert spool_files(tmp_path) == [
            SpoolFile(tmp_path / "dead.1.jsonl", line, is_orphan=True),
            SpoolFile(tmp_path / "living.1.jsonl", line, is_orphan=False),
        ]


def test_a_removed_file_loses_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "me")
    for number in range(3):
        spool.append("event", b'{"n":%d}' % number)
        shutil.rmtree(tmp_path / "spool")
    found = [line for segment in spool.segments() for line in lines(segment)]
    assert found == [("event", b'{"n":%d}' % number) for number in range(3)]
    assert spool.is_empty


def test_a_foreign_file_does_not_keep_the_others_from_being_adopted(tmp_path: Path) -> None:
    (tmp_path / "a-folder.1.jsonl").mkdir()  # which comes before all others
    (tmp_path / "folder.1.jsonl").mkdir()
    (tmp_path / "lost.1.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "dead-1.1.jsonl").write_bytes(b'{"event":{"n":1}}\n')
    (paths,) = list(Spool(tmp_path, "me").orphans())
    assert [segment.path.name for segment in paths] == ["dead-1.1.jsonl"]
    assert foreign_files(tmp_path) == 2
    assert spooled_bytes(tmp_path) > 0


def missing(directory: Path) -> Path:
    return directory / "a" / "b"


def a_file(directory: Path) -> Path:
    (directory / "file").write_text("")
    return directory / "file"


def below_a_file(directory: Path) -> Path:
    return a_file(directory) / "spool"


def dangling(directory: Path) -> Path:
    (directory / "link").symlink_to(directory / "nowhere" / "else")
    return directory / "link"


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        (missing, None),
        (a_file, "File exists"),
        (below_a_file, "Not a directory"),
        (dangling, "File exists"),
        (lambda _: Path("/proc/spool"), "No such file or directory"),
    ],
)
def test_the_reason_why_a_spool_cannot_be_written_is_reported(
    tmp_path: Path, place: Callable[[Path], Path], fault: str | None
) -> None:
    assert spool_fault(place(tmp_path)) == fault
