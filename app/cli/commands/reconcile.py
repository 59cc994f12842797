"""`tollgate reconcile`: all that holds usage, against each other."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
from sqlalchemy import Engine

from app.cli.ledger import open_ledger
from app.cli.reconcile_bill import reconcile_bill
from app.cli.stream import open_redis
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import show_time
from app.ledger.reconcile import Difference, count_entries, day_ranges, differences, rebuild
from app.settings import Settings
from app.usage.redis.pipeline_status import PipelineStatus, look
from app.usage.spool import SpoolFile, spool_files

#: What waits for longer than this waits for somebody, in seconds: a worker looks every second,
#: and 40 s after a process died its requests are posted.
PATIENCE_S = 60

#: Differences that are shown, in a table and in JSON; all are counted.
SHOWN, LISTED = 20, 1000


@dataclass(slots=True)
class Rollups:
    """How the ledger's rollups compare with its entries."""

    entries: int = 0
    differing: int = 0
    listed: list[Difference] = field(default_factory=list)


@click.command("reconcile")
@click.option(
    "--rebuild",
    "rebuilds",
    is_flag=True,
    help="Remake the rollups that are not the sums of their entries; posts go on meanwhile.",
)
@click.option(
    "--bill",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare a vendor's own count with the ledger instead: pages of OpenAI's usage API by day"
    " and model in JSON, or a CSV file of day, model, tokens.",
)
@click.option(
    "--vendor",
    "vendors",
    multiple=True,
    default=("openai",),
    show_default=True,
    help="Whose bill it is: an entry of the vendor table, or several.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def reconcile(rebuilds: bool, bill: Path | None, vendors: tuple[str, ...], as_json: bool) -> None:
    """Hold the stream, open requests, the spool of this machine and the ledger against each other.

    What is merely on its way is no fault. Exit code 1 says that something disagrees, is dead or
    has been left behind; stderr says what, and what to do about it.
    """
    if bill is not None:
        if rebuilds:
            raise click.UsageError("--rebuild is of no use with --bill")
        reconcile_bill(bill, vendors, as_json)
        return
    with open_redis() as redis:
        transit = look(redis)
    spooled = _spooled(Settings.from_env().spool_dir)
    with open_ledger() as engine:
        rollups = _compare(engine, rebuilds)
    problems = [*_of_transit(transit), *_of_spool(spooled), *_of_rollups(rollups, rebuilds)]
    if as_json:
        click.echo(json.dumps(_as_dict(transit, spooled, rollups, rebuilds, problems), indent=2))
    else:
        _print(transit, spooled, rollups, rebuilds)
    for problem in problems:
        click.echo(f"! {problem}", err=True)
    if problems:
        sys.exit(1)
    if not as_json:
        click.echo("Nothing disagrees.", err=True)


def _compare(engine: Engine, rebuilds: bool) -> Rollups:
    """Compare all rollups with their entries, stretch by stretch, and mend them where told to."""
    found, label = Rollups(entries=count_entries(engine)), "Entries against rollups"
    with click.progressbar(length=found.entries, label=label, file=sys.stderr) as bar:
        for stretch in day_ranges(engine):
            differing = differences(engine, stretch)
            if differing and rebuilds:
                differing = rebuild(engine, stretch)
            found.differing += len(differing)
            found.listed += differing[: LISTED - len(found.listed)]
            bar.update(stretch.entry_count)
        bar.finish()
    return found


def _spooled(directory: Path) -> list[SpoolFile]:
    try:
        return spool_files(directory)
    except OSError as exc:
        raise click.ClickException(f"The spool in {directory} cannot be read: {exc}.") from exc


def _of_transit(transit: PipelineStatus) -> Iterator[str]:
    if transit.dead:
        yield f"Events that could not be posted: {transit.dead}. See them: tollgate dead list"
    if _is_overdue(transit.oldest_waiting_ms):
        yield (
            f"Events wait since {show_time(transit.oldest_waiting_ms or 0)}. See that a worker and"
            " beat run, and in the worker's log whether it reaches the ledger."
        )
    if _is_overdue(transit.oldest_orphaned_ms):
        yield (
            f"Orphaned open requests: {transit.open_orphaned}. Check that a worker and"
            " beat run: they post them, estimated."
        )


def _of_spool(spooled: Iterable[SpoolFile]) -> Iterator[str]:
    orphans = sum(file.is_orphan for file in spooled)
    if orphans:
        yield (
            f"Spool files left by processes that are gone: {orphans}. A web process on this"
            " machine, with the same TOLLGATE_SPOOL_DIR, adopts them while Redis answers."
        )


def _of_rollups(rollups: Rollups, rebuilt: bool) -> Iterator[str]:
    if rollups.differing and not rebuilt:
        yield (
            f"Rollups that are not the sums of their entries: {rollups.differing}. Remake them:"
            " tollgate reconcile --rebuild"
        )


def _is_overdue(since_ms: int | None) -> bool:
    return since_ms is not None and since_ms < (time.time() - PATIENCE_S) * 1000


def _print(
    transit: PipelineStatus, spooled: Sequence[SpoolFile], rollups: Rollups, rebuilt: bool
) -> None:
    orphans = sum(file.is_orphan for file in spooled)
    rows: list[tuple[Cell, ...]] = [
        ("events that wait for a worker", transit.waiting, f"{transit.claimed} claimed"),
        ("requests under way", transit.open_alive, ""),
        ("requests of processes that are gone", transit.open_orphaned, ""),
        ("dead events", transit.dead, ""),
        ("spool files of this machine", len(spooled), f"{orphans} of processes that are gone"),
        ("ledger entries", rollups.entries, ""),
        ("rollups that differ", rollups.differing, "remade" if rebuilt else ""),
    ]
    for line in format_table(("what", "count", ""), rows, pretty=on_terminal()):
        click.echo(line)
    if rollups.differing:
        click.echo()
        for line in _difference_table(rollups):
            click.echo(line)


def _difference_table(rollups: Rollups) -> Iterator[str]:
    headings = ("account", "slot", "key", "model", "lacked requests", "lacked tokens")
    shown = rollups.listed[:SHOWN]
    rows: list[tuple[Cell, ...]] = [
        (
            it.account_id,
            show_time(it.slot_s * 1000),
            it.api_key_id,
            f"{it.vendor}/{it.model}",
            it.lacks.get("requests", 0),
            it.lacks.get("total_tokens", 0),
        )
        for it in shown
    ]
    yield from format_table(headings, rows, pretty=on_terminal())
    if rollups.differing > len(shown):
        yield f"and {rollups.differing - len(shown)} more"


def _as_dict(
    transit: PipelineStatus,
    spooled: Iterable[SpoolFile],
    rollups: Rollups,
    rebuilt: bool,
    problems: Sequence[str],
) -> dict[str, Any]:
    return {
        "redis": asdict(transit),
        "spool": [asdict(file) | {"path": str(file.path)} for file in spooled],
        "ledger": {
            "entries": rollups.entries,
            "rollups_differing": rollups.differing,
            "rollups_rebuilt": rebuilt,
            "differences": [asdict(difference) for difference in rollups.listed],
        },
        "problems": list(problems),
    }
