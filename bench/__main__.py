"""Runs the benchmark: `python -m bench`, or `make bench`; `python -m bench steady` for endurance.

The gateway has its own core; vendor, client, Valkey and worker share the others. Usage is recorded.
The table goes to stdout, progress to stderr.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from app.devstack.children import ChildFailed
from bench import machine, results
from bench.failures import BenchFailed
from bench.figures import STEADY
from bench.parts import PARTS
from bench.report import report
from bench.stage import staged
from bench.steady import compare, records, run_steadily

ROUNDS = 3


@click.group(invoke_without_command=True)
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="Run only these parts.")
@click.option("--rounds", type=click.IntRange(1), default=ROUNDS, show_default=True)
@click.option("--peers/--no-peers", default=True, show_default=True, help="Measure peers, too.")
@click.option("--keep", is_flag=True, help=f"Save the result in {results.FOLDER.name}/.")
@click.pass_context
def main(
    context: click.Context, only: tuple[str, ...], rounds: int, peers: bool, keep: bool
) -> None:
    """Measure Tollgate, the vendor without a gateway, and the installed peers."""
    if context.invoked_subcommand:
        return
    load_before = machine.load()
    say(machine.machine())
    with (
        tempfile.TemporaryDirectory() as folder,
        errors_as_messages(),
        staged(Path(folder), rounds, with_peers=peers, say=say) as stage,
    ):
        taken = []
        for name, part in PARTS.items():
            if not only or name in only:
                for record in part(stage):
                    say(progress(record))
                    taken.append(record)
    if not taken:
        return
    result = results.Result(
        results.now(),
        results.commit(),
        machine.describe(),
        machine.versions(),
        load_before,
        tuple(taken),
    )
    for line in report(result, results.last(result.machine)):
        click.echo(line)
    if keep:
        say(f"Saved: {results.save(result)}")


@main.command()
@click.option("--minutes", type=click.IntRange(1), default=10, show_default=True)
@click.option("--keep", is_flag=True, help=f"Save the result in {results.FOLDER.name}/{STEADY}/.")
def steady(minutes: int, *, keep: bool) -> None:
    """Load Tollgate for a long time, and compare speed and memory at the end with the start."""
    load_before, found = machine.load(), []
    say(machine.machine())
    with (
        tempfile.TemporaryDirectory() as folder,
        errors_as_messages(),
        staged(Path(folder), 1, with_peers=False, say=say) as stage,
    ):
        for at, minute in enumerate(run_steadily(stage, minutes), 1):
            click.echo(f"{at:3}  {minute}")
            found.append(minute)
    for line in compare(found):
        click.echo(line)
    if keep:
        say(f"Saved: {results.keep(STEADY, records(found), load_before)}")


@contextlib.contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn expected failures into messages; other exceptions keep their traceback."""
    try:
        yield
    except (BenchFailed, ChildFailed) as exc:
        raise click.ClickException(str(exc)) from exc


def progress(record: results.Record) -> str:
    """Return the summary of a round, in one line."""
    figures = ", ".join(f"{key} {value:,.2f}" for key, value in record.figures.items())
    return (
        f"{record.part}, {record.case}, {record.target}: {figures}; rest {record.shares.rest:.0%}"
    )


def say(text: str) -> None:
    """Print progress to stderr."""
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
