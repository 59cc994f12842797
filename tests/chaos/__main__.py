"""`make chaos`: load through real clients while everything fails, then the verdict."""

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

import click

from tests.chaos.backlog import drain_backlog
from tests.chaos.ledgers import Sqlite
from tests.chaos.run import LEDGERS, REDISES, run_chaos
from tests.support.services.postgres import find_binaries


class Finding(Protocol):
    """The result of a run."""

    @property
    def is_good(self) -> bool:
        """Whether the result is as required."""
        ...

    def lines(self) -> list[str]:
        """Return the result as lines of text."""
        ...


@click.command()
@click.option("--seed", type=int, default=None, help="Repeat a run's script; the time by default.")
@click.option("--seconds", type=float, default=100.0, show_default=True, help="How long to strike.")
@click.option("--haste", type=float, default=1.0, show_default=True, help="Divides waiting times.")
@click.option("--ledger", type=click.Choice([*LEDGERS, "both"]), default="both", show_default=True)
@click.option("--redis", type=click.Choice([*REDISES, "both"]), default="both", show_default=True)
@click.option("--only", multiple=True, help="Name of a fault; repeat the option for several.")
@click.option("--backlog", type=int, default=1_000_000, show_default=True, help="Events; 0: none.")
@click.option("--keep", is_flag=True, help="Keep the logs and the ledger.")
def main(
    seed: int | None,
    seconds: float,
    haste: float,
    ledger: str,
    redis: str,
    only: tuple[str, ...],
    backlog: int,
    *,
    keep: bool,
) -> None:
    """Inject faults for a while with each ledger and each kind of Redis, then consume a backlog.

    Exit 1 when a call is missing, doubled or wrong, or the worker's memory grows.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    seed = int(time.time()) if seed is None else seed
    names = [ledger] if ledger != "both" else LEDGERS if find_binaries() else ["sqlite"]
    runs: list[Callable[[Path], Finding]] = [
        partial(
            run_chaos,
            ledger=name,
            redis=kind,
            seed=seed,
            duration_s=seconds,
            haste=haste,
            only=only,
        )
        for name in names
        for kind in (REDISES if redis == "both" else [redis])
    ]
    if backlog:
        runs.append(lambda root: drain_backlog(root, Sqlite(root), backlog))
    sys.exit(0 if all([found_good(run, keep=keep) for run in runs]) else 1)


def found_good(run: Callable[[Path], Finding], *, keep: bool) -> bool:
    """Run, print the result, and return whether it is good; if not, save the logs."""
    root = Path(tempfile.mkdtemp(prefix="tollgate-chaos-"))
    click.echo(f"logs in {root}", err=True)
    finding = run(root)
    click.echo("\n".join(finding.lines()))
    if finding.is_good and not keep:
        shutil.rmtree(root)
    return finding.is_good


if __name__ == "__main__":
    main()
