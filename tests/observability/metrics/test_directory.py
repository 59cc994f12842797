"""The directory that web processes share for their counts."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.observability.metrics.directory import VARIABLE, make, remove


def elsewhere(parent: Path) -> Path:
    """A directory of another process, which ends at once."""
    program = f"from app.observability.metrics.directory import make; print(make({str(parent)!r}))"
    run = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    return Path(run.stdout.decode().strip())


def test_the_directory_of_a_killed_master_is_removed_and_that_of_a_live_one_stays(
    tmp_path: Path,
) -> None:
    """The lock is what distinguishes them, not a process ID."""
    left = elsewhere(tmp_path)
    (left / "counter_1.db").write_bytes(b"x")
    live = Path(make(str(tmp_path)))
    assert not left.exists()
    elsewhere(tmp_path)
    assert live.is_dir()


def test_two_masters_have_separate_private_directories(tmp_path: Path) -> None:
    """Their names cannot be guessed."""
    one, other = Path(make(str(tmp_path))), Path(make(str(tmp_path)))
    assert one != other
    assert one.stat().st_mode & 0o777 == 0o700
    assert list(one.iterdir()) == []


def test_the_directory_is_removed_with_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a directory, nothing is removed."""
    monkeypatch.delenv(VARIABLE, raising=False)
    remove()
    path = Path(make(str(tmp_path)))
    (path / "counter_1.db").write_bytes(b"x")
    monkeypatch.setenv(VARIABLE, str(path))
    remove()
    assert not path.exists()
    assert tmp_path.exists()
