"""One run: everything starts, load and faults, everything converges, the verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.faults import Script
from tests.chaos.ledgers import LedgerServer, PostgresLedger, Sqlite
from tests.chaos.load import Load
from tests.chaos.reconciled import disagreements
from tests.chaos.redises import OneServer, RedisServer, WithStandby
from tests.chaos.system import running_system
from tests.chaos.verdict import Verdict, verdict
from tests.support.services.postgres import find_binaries


@dataclass(frozen=True)
class Report:
    """What happened, and the verdict. `dead`: dead letters, and those that are valid events."""

    title: str
    struck: Mapping[str, int]
    endings: Mapping[str, int]
    settled_s: float
    dead: tuple[int, int]
    has_forgotten: bool
    verdict: Verdict

    @property
    def is_good(self) -> bool:
        """Whether the ledger is right, and only invalid events became dead letters.

        Dead letters are lost if Redis forgets, and entries that are removed by hand become some.
        """
        dead, events = self.dead
        is_right = self.has_forgotten or dead == self.struck.get("poison event", 0)
        return self.verdict.is_good and is_right and not events

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
            f"  dead letters {self.dead[0]} of {self.struck.get('poison event', 0)} poison events,"
            f" {self.dead[1]} valid events",
            f"  missing      {found.missing}",
            f"  doubled      {found.doubled}",
            f"  told         {found.told} calls whose every copy was destroyed, {found.uncalled}"
            f" requests without a call, {len(found.unopened)} numbers that no request got",
            *(f"    nobody's   {number} of {of}" for of, number in sorted(found.unopened)),
            *(f"  WRONG        {problem}" for problem in found.problems[:50]),
        ]


def _postgres(_: Path) -> LedgerServer:
    binaries = find_binaries()
    assert binaries is not None, "no PostgreSQL server here"
    return PostgresLedger(binaries)


LEDGERS: Mapping[str, Callable[[Path], LedgerServer]] = {"sqlite": Sqlite, "postgresql": _postgres}

REDISES: Mapping[str, Callable[[Path], RedisServer]] = {"one": OneServer, "standby": WithStandby}


def run_chaos(
    root: Path,
    *,
    ledger: str,
    redis: str,
    seed: int,
    duration_s: float,
    haste: float,
    only: Sequence[str] = (),
) -> Report:
    """Inject faults for a time, wait until the system has converged, and return the result.

    `only`: the names of the faults, if not all.
    Raises: TimeoutError when it does not settle.
    """
    with running_system(root, REDISES[redis], LEDGERS[ledger], seed, haste) as system:
        load, script = Load(system, seed), Script(system, seed, haste, only)
        load.start()
        try:
            script.run(duration_s)
        finally:
            load.stop()
        settled_s, dead = system.settle(), system.dead_counts()
        numbers = system.numbers()
        found = verdict(system.engine, system.served.by_tag, load.asked, numbers)
        found.problems += disagreements(system.env, numbers, has_dead=bool(dead[0]))
        title = f"seed {seed}, {duration_s:.0f} s of faults, {ledger}, redis: {redis}"
        endings, forgot = load.endings, script.has_forgotten
        return Report(title, script.struck, endings, settled_s, dead, forgot, found)


def _counts(counts: Mapping[str, int]) -> str:
    parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{sum(counts.values())}: {parts}"
