"""One run: everything starts, load and faults, everything converges, the verdict."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.faults import Script
from tests.chaos.ledgers import LedgerServer, PostgresLedger, Sqlite
from tests.chaos.load import Load
from tests.chaos.system import running_system
from tests.chaos.verdict import Verdict, verdict
from tests.support.services.postgres import find_binaries


@dataclass(frozen=True)
class Report:
    """What happened, and the verdict."""

    title: str
    struck: Mapping[str, int]
    endings: Mapping[str, int]
    settled_s: float
    dead: int
    verdict: Verdict

    @property
    def is_good(self) -> bool:
        """Whether the ledger is right, and only invalid events became dead letters."""
        return self.verdict.is_good and self.dead == self.struck.get("poison event", 0)

    def lines(self) -> list[str]:
        """Return the result as lines of text."""
        found = self.verdict
        worst = ", ".join(f"{n} ({status})" for status, n in found.worst_error_tokens.items())
        faults = sum(self.struck.values())
        return [
            self.title,
            f"  faults       {faults}",
            *(f"    {count:4} x {name}" for name, count in sorted(self.struck.items())),
            f"  asked        {_counts(self.endings)}",
            f"  vendor       {found.calls} calls",
            f"  ledger       {found.entries} entries: {_counts(found.statuses)}",
            f"  converged in {self.settled_s:.0f} s",
            f"  exact        {found.exact}",
            f"  estimated    {found.estimated}; worst error, tokens: {worst or 'none'}",
            f"  no call made {found.unreached} (the request ended before it)",
            f"  dead letters {self.dead} of {self.struck.get('poison event', 0)} poison events",
            f"  missing      {found.missing}",
            f"  doubled      {found.doubled}",
            *(f"  WRONG        {problem}" for problem in found.problems[:50]),
        ]


def _postgres(_: Path) -> LedgerServer:
    binaries = find_binaries()
    assert binaries is not None, "no PostgreSQL server here"
    return PostgresLedger(binaries)


LEDGERS: Mapping[str, Callable[[Path], LedgerServer]] = {"sqlite": Sqlite, "postgresql": _postgres}


def run_chaos(root: Path, ledger: str, seed: int, duration_s: float, haste: float) -> Report:
    """Inject faults for a time, wait until the system has converged, and return the result.

    Raises: TimeoutError when it does not settle.
    """
    with running_system(root, LEDGERS[ledger], seed, haste) as system:
        load, script = Load(system, seed), Script(system, seed, haste)
        load.start()
        try:
            script.run(duration_s)
        finally:
            load.stop()
        settled_s = system.settle()
        found = verdict(system.engine, system.served.by_tag, load.asked)
        title = f"seed {seed}, {duration_s:.0f} s of faults, {ledger}"
        return Report(title, script.struck, load.endings, settled_s, system.dead_count(), found)


def _counts(counts: Mapping[str, int]) -> str:
    parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{sum(counts.values())}: {parts}"
