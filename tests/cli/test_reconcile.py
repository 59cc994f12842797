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
    assert "--bill and --from-log are commands of their own: use one of them alone" in said


def test_a_vendor_needs_its_bill(tollgate: Tollgate) -> None:
    said = tollgate.run("reconcile", "--vendor", "openai", exit_code=2).stderr
    assert "--vendor needs --bill FILE" in said
