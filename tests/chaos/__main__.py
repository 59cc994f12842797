"""`make chaos`: load through real clients while everything fails, then the reckoning."""

import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.chaos.run import LEDGERS, run_chaos
from tests.services.postgres import find_binaries


@click.command()
@click.option("--seed", type=int, default=None, help="Repeat a run's script; the time by default.")
@click.option("--seconds", type=float, default=150.0, show_default=True, help="How long to strike.")
@click.option("--haste", type=float, default=1.0, show_default=True, help="Divides waiting times.")
@click.option("--ledger", type=click.Choice([*LEDGERS, "both"]), default="both", show_default=True)
@click.option("--keep", is_flag=True, help="Keep the logs and the ledger.")
def main(seed: int | None, seconds: float, haste: float, ledger: str, *, keep: bool) -> None:
    """Strike for a while on each ledger; exit 1 when a call is missing, doubled or wrong."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    seed = int(time.time()) if seed is None else seed
    names = [ledger] if ledger != "both" else LEDGERS if find_binaries() else ["sqlite"]
    good = True
    for name in names:
        root = Path(tempfile.mkdtemp(prefix="tollgate-chaos-"))
        report = run_chaos(root, name, seed, seconds, haste)
        click.echo("\n".join(report.lines()))
        good = good and report.is_good
        if keep or not report.is_good:
            click.echo(f"  kept in      {root}")
        else:
            shutil.rmtree(root)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
