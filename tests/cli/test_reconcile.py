"""Which comparisons `tollgate reconcile` can make at a time."""

from itertools import combinations
from pathlib import Path

import pytest

from tests.cli.command import Tollgate

WAYS = ("--rebuild", "--write-off", "--bill", "--from-log")


@pytest.mark.parametrize(
    "ways", [it for it in combinations(WAYS, 2) if it != ("--rebuild", "--write-off")]
)
def test_only_one_way_at_a_time(tollgate: Tollgate, tmp_path: Path, ways: tuple[str, str]) -> None:
    (tmp_path / "file").write_text("")
    options = [
        part
        for way in ways
        for part in ([way, str(tmp_path / "file")] if way in WAYS[2:] else [way])
    ]
    said = tollgate.run("reconcile", *options, exit_code=2).stderr
    assert "Use only one of --rebuild, --write-off, --bill and --from-log." in said
