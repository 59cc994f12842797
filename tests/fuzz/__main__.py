"""`make fuzz`: hostile requests by seed, and the worst gap of a stream beside them."""

import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.fuzz.named import ATTACKS
from tests.fuzz.run import run_fuzz
from tests.fuzz.target import running_target


@click.command()
@click.option("--minutes", type=float, default=60.0, show_default=True, help="How long to go on.")
@click.option("--seed", type=int, default=None, help="Repeat a run; the time by default.")
@click.option("--named", is_flag=True, help="Only the attacks with a name, one after the other.")
@click.option("--only", default="", help="Of those, the ones whose name holds this.")
def main(minutes: float, seed: int | None, only: str, *, named: bool) -> None:
    """Attack a web process of our own. Exit 1 when an answer or the books are wrong."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    root = Path(tempfile.mkdtemp(prefix="tollgate-fuzz-"))
    click.echo(f"logs in {root}", err=True)
    if named or only:
        attack_by_name(root, only)
        return
    report = run_fuzz(root, int(time.time()) if seed is None else seed, minutes * 60)
    click.echo("\n".join(report.lines()))
    if report.is_good:
        shutil.rmtree(root)
    sys.exit(0 if report.is_good else 1)


def attack_by_name(root: Path, only: str) -> None:
    """Make each attack alone; say the stream's worst gap and the memory taken.

    In brackets what the worker computed in one gap; then what came of the attack.
    """
    with running_target(root) as target:
        for name, attack in ATTACKS.items():
            if only in name:
                target.forget_memory()
                before = target.memory_mb()
                target.pacer.worst_gap_ms()
                said = attack(target)
                time.sleep(0.3)
                (gap, busy), grown = target.pacer.worst_gap_ms(), target.memory_mb() - before
                click.echo(f"{name:40} {gap:6.0f} ms ({busy:4.0f}) {grown:+5.0f} MB  {said}")


if __name__ == "__main__":
    main()
