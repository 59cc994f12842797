"""The directory that web processes share for their counts."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.observability.metrics_directory import VARIABLE, make, remove


def elsewhere(parent: Path) -> Path:
    """A directory of another process, which ends at once."""
    program = f"from app.observability.metrics_directory import make; print(make({str(parent)!r}))"
    run = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    return Path(run.stdout.decode().strip())


def test_what_a_killed_master_left_is_removed_and_what_a_live_one_has_is_not(
    tmp_path: Path,
) -> None:
    """The lock tells them apart, not the number of a process."""
    left = elsewhere(tmp_path)
    (left / "counter_1.db").write_bytes(b"x")
    live = Path(make(str(tmp_path)))
    assert not left.exists()
    elsewhere(tmp_path)
    assert live.is_dir()


def test_two_masters_share_none_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    """It is named by no guess."""
    one, other = Path(make(str(tmp_path))), Path(make(str(tmp_path)))
    assert one != other
    assert one.stat().st_mode & 0o777 == 0o700
    assert list(one.iterdir()) == []


def test_it_is_removed_with_all_that_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is none, nothing is."""
    monkeypatch.delenv(VARIABLE, raising=False)
    remove()
    path = Path(make(str(tmp_path)))
    (path / "counter_1.db").write_bytes(b"x")
    monkeypatch.setenv(VARIABLE, str(path))
    remove()
    assert not path.exists()
    assert tmp_path.exists()
