"""`python -m tests.fuzz`: hostile requests by seed, and the worst gap of a stream beside them."""

import resource
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.fuzz.named import ATTACKS
from tests.fuzz.target import running_target


@click.command()
@click.option("--named", is_flag=True, help="Only the attacks with a name, one after the other.")
@click.option("--only", default="", help="Those whose name holds this.")
def main(*, named: bool, only: str) -> None:
    """Attack a web process of our own."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    root = Path(tempfile.mkdtemp(prefix="tollgate-fuzz-"))
    with running_target(root) as target:
        for name, attack in ATTACKS.items():
            if only not in name:
                continue
            target.forget_memory()
            before = target.memory_mb()
            target.pacer.worst_gap_ms()
            said = attack(target)
            time.sleep(0.3)
            gap = target.pacer.worst_gap_ms()
            grown = target.memory_mb() - before
            click.echo(f"{name:40} {gap:8.0f} ms {grown:+7.0f} MB  {said}")


if __name__ == "__main__":
    sys.exit(main())
