"""Results: the raw values of every round, saved as JSON, and the last comparable result."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from app.settings import ROOT
from bench.machine import describe, versions
from bench.stats import spread

FOLDER = ROOT / "bench" / "results"


@dataclass(frozen=True, slots=True)
class Shares:
    """The processor use of cores and processes in a round; 1 is a whole core."""

    #: The cores of vendor, client and worker; near 1, they are the bottleneck.
    rest: float = 0.0
    #: The gateway's core, used by processes outside the benchmark.
    foreign: float = 0.0
    #: The vendor and the client, single-threaded; near 1, they are the bottleneck.
    vendor: float = 0.0
    client: float = 0.0


@dataclass(frozen=True, slots=True)
class Record:
    """One round of one case on one target."""

    part: str
    case: str
    target: str
    figures: Mapping[str, float]
    shares: Shares = field(default_factory=Shares)
    #: Percentiles of the lag in ms, by percent, if streams were read.
    lags: Mapping[str, float] = field(default_factory=dict)


#: part, case, target, figure
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Median:
    """The median of a metric's rounds, and their spread; None for a single round."""

    median: float
    spread: float | None


@dataclass(frozen=True, slots=True)
class Result:
    """One run of the benchmark."""

    kept_at: str
    commit: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    load_before: float
    records: tuple[Record, ...]

    def medians(self) -> dict[Key, Median]:
        """Return the median of each metric, in the order of measurement."""
        rounds: dict[Key, list[float]] = {}
        for one in self.records:
            for figure, value in one.figures.items():
                rounds.setdefault((one.part, one.case, one.target, figure), []).append(value)
        return {
            key: Median(median(values), spread(values) if len(values) > 1 else None)
            for key, values in rounds.items()
        }


def save(result: Result, folder: Path = FOLDER) -> Path:
    """Save `result` with its medians; return the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = _path(result, folder)
    medians = [[*key, round(value.median, 4)] for key, value in result.medians().items()]
    path.write_text(json.dumps({**asdict(result), "medians": medians}, indent=1) + "\n")
    return path


def keep(part: str, records: Iterable[Record], load_before: float, folder: Path = FOLDER) -> Path:
    """Save the records of a separate measurement in a folder of its part's name; return the path.

    `last` does not read that folder: it compares runs of the benchmark itself. Other cases of the
    same day and commit stay in the file.
    """
    taken = tuple(records)
    found = Result(now(), commit(), describe(), versions(), load_before, taken)
    path = _path(found, folder / part)
    cases = {one.case for one in taken}
    saved = load(path).records if path.exists() else ()
    others = tuple(one for one in saved if one.case not in cases)
    return save(replace(found, records=others + taken), folder / part)


def load(path: Path) -> Result:
    """Load a saved result."""
    content: dict[str, Any] = json.loads(path.read_text())
    del content["medians"]
    records = tuple(
        Record(**{**record, "shares": Shares(**record["shares"])})
        for record in content.pop("records")
    )
    return Result(**content, records=records)


def last(machine: Mapping[str, Any] | None = None, folder: Path = FOLDER) -> Result | None:
    """Return the latest saved result; with `machine`, only of the same kind of host."""
    saved: Iterable[Result] = map(load, folder.glob("*.json"))
    fitting = [one for one in saved if machine is None or _kind(one.machine) == _kind(machine)]
    return max(fitting, key=lambda one: one.kept_at, default=None)


def now() -> str:
    """Return the current time in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def commit() -> str:
    """Return the short id of the current commit, with `-changed` if files differ."""
    git = ["git", "describe", "--always", "--exclude=*", "--dirty=-changed"]
    found = subprocess.run(  # noqa: S603  # a fixed command
        git, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"  # a source tree without its history


def _path(result: Result, folder: Path) -> Path:
    return folder / f"{result.kept_at[:10]}-{result.commit}.json"


def _kind(machine: Mapping[str, Any]) -> tuple[Any, Any]:
    return machine["processor"], machine["cores"]
