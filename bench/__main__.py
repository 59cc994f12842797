"""Run the benchmark: `python -m bench`, or `make bench`; `python -m bench steady` for endurance.

The gateway has one core to itself; vendor, client, Valkey and worker share the others. Recorder
is on. The table goes to stdout, progress to stderr.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from app.devstack.children import ChildFailed
from bench import machine, results
from bench.failures import BenchFailed
from bench.parts import PARTS
from bench.report import report
from bench.stage import staged
from bench.steady import run_steadily

ROUNDS = 3


@click.group(invoke_without_command=True)
@click.option(
    "--only", type=click.Choice(list(PARTS)), multiple=True, help="Run these parts alone."
)
@click.option("--rounds", type=click.IntRange(1), default=ROUNDS, show_default=True)
@click.option("--peers/--no-peers", default=True, show_default=True, help="Where installed.")
@click.option("--keep", is_flag=True, help=f"Keep the result under {results.FOLDER.name}/.")
@click.pass_context
def main(
    context: click.Context, only: tuple[str, ...], rounds: int, peers: bool, keep: bool
) -> None:
    """Measure Tollgate, the vendor without it, and the peers that are installed."""
    if context.invoked_subcommand:
        return
    load_before = machine.load()
    say(machine.machine())
    with (
        tempfile.TemporaryDirectory() as folder,
        failures_told(),
        staged(Path(folder), rounds, with_peers=peers, say=say) as stage,
    ):
        records = []
        for name, part in PARTS.items():
            if not only or name in only:
                for record in part(stage):
                    say(progress(record))
                    records.append(record)
    if not records:
        return
    result = results.Result(
        results.now(),
        results.commit(),
        machine.describe(),
        machine.versions(),
        load_before,
        tuple(records),
    )
    for line in report(result, results.last(result.machine)):
        click.echo(line)
    if keep:
        say(f"Kept: {results.save(result)}")


@main.command()
@click.option("--minutes", type=click.IntRange(1), default=10, show_default=True)
def steady(minutes: int) -> None:
    """Load Tollgate for long: does it slow down, does its memory grow?"""
    say(machine.machine())
    with (
        tempfile.TemporaryDirectory() as folder,
        failures_told(),
        staged(Path(folder), 1, with_peers=False, say=say) as stage,
    ):
        for line in run_steadily(stage, minutes):
            click.echo(line)


@contextlib.contextmanager
def failures_told() -> Iterator[None]:
    """Say what failed in words; anything else is a fault of ours, and keeps its traceback."""
    try:
        yield
    except (BenchFailed, ChildFailed) as exc:
        raise click.ClickException(str(exc)) from exc


def progress(record: results.Record) -> str:
    """Return a round in one line."""
    figures = ", ".join(f"{key} {value:,.2f}" for key, value in record.figures.items())
    return (
        f"{record.part}, {record.case}, {record.target}: {figures}; rest {record.shares.rest:.0%}"
    )


def say(text: str) -> None:
    """Tell whoever waits."""
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
