"""How much is free on the disk of a spool."""

import shutil
from pathlib import Path

from app.usage.disk.spool_disk import free_bytes


def test_what_is_free_is_known_before_the_directory_exists(tmp_path: Path) -> None:
    free = free_bytes(tmp_path / "not" / "yet")
    assert free is not None
    # Other processes write to the same disk meanwhile.
    assert abs(free - shutil.disk_usage(tmp_path).free) < 1 << 30


def test_a_directory_that_cannot_be_reached_has_no_figure(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("a file where a directory should be")
    assert free_bytes(in_the_way / "spool") is None
