"""Coverage of the processes that a test starts."""

from collections.abc import Mapping
from pathlib import Path

from coverage import Coverage

#: The settings of coverage in a web process.
WEB = Path(__file__).parents[1] / "server" / "coverage.cfg"


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
