"""Coverage: of which tests it is measured, and of the processes that they start."""

from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

#: The settings of coverage in a web process.
WEB = Path(__file__).parents[1] / "server" / "coverage.cfg"

#: Tests in this process that run the same code once more, for each vendor and each client, or with
#: generated requests: the tests of Tollgate's rooms have run it. Tracing doubles their time.
UNMEASURED = ("tests/api/openapi/test_live.py", "tests/contract/")

#: How many sets of parameters a test is measured with: further ones run mostly what these have run.
SETS = 5

_paused = pytest.StashKey[list[Coverage]]()
_sets = pytest.StashKey[Counter[str]]()


def measured(settings: Path = WEB) -> Mapping[str, str]:
    """Return the environment in which coverage measures a process, and those that it forks.

    It is empty while the tests themselves are not measured. coverage's own .pth file in the
    virtual environment reads these variables; the process stores its data when it exits.
    """
    current = Coverage.current()
    if current is None:
        return {}
    data_file = Path(current.config.data_file).resolve()
    return {"COVERAGE_PROCESS_START": str(settings), "COVERAGE_FILE": str(data_file)}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure a test with its fixtures, or not."""
    if _is_measured(item):
        _resume(item.config)
    else:
        _pause(item.config)
    return (yield)


def _is_measured(item: pytest.Item) -> bool:
    name = item.nodeid.partition("[")[0]
    sets = item.config.stash.setdefault(_sets, Counter())
    sets[name] += 1
    return sets[name] <= SETS and not name.startswith(UNMEASURED)


def _pause(config: pytest.Config) -> None:
    """Stop all measurements: pytest-cov has one inside of another in a process of xdist."""
    while current := Coverage.current():
        current.stop()
        config.stash.setdefault(_paused, []).append(current)


def _resume(config: pytest.Config) -> None:
    paused = config.stash.setdefault(_paused, [])
    while paused:
        paused.pop().start()
