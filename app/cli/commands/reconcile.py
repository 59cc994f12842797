"""`tollgate reconcile`: compares the stream, open records, the spool and the ledger."""

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
from app.cli.reconcile_log import reconcile_log
from app.cli.stream import open_redis
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import show_time
from app.ledger.reconcile import Difference, count_entries, day_ranges, differences, rebuild
from app.settings import Settings
from app.usage.redis.pipeline_status import PipelineStatus, read_status
from app.usage.spool import SpoolFile, spool_files

#: Usage that waits for longer than this needs attention, in seconds: a worker polls every second,
#: and posts the requests of a crashed process after 40 s.
PATIENCE_S = 60

#: The most differences in the table and in JSON; all are counted.
SHOWN, LISTED = 20, 1000


@dataclass(slots=True)
class Rollups:
    """The comparison of the ledger's rollups with its entries."""

    entries: int = 0
    differing: int = 0
    listed: list[Difference] = field(default_factory=list)


@click.command("reconcile")
@click.option(
    "--rebuild",
    "rebuilds",
    is_flag=True,
    help="Recompute the rollups that differ from their entries. Posting continues.",
)
@click.option(
    "--bill",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare a vendor's bill with the ledger instead: pages of OpenAI's usage API by day and"
    " model in JSON, or a CSV file of day, model, tokens.",
)
@click.option(
    "--vendor",
    "vendors",
    multiple=True,
    default=("openai",),
    show_default=True,
    help="Vendor entry that the bill belongs to; repeat the option for several.",
)
@click.option(
    "--from-log",
    "log",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Post the events of a web process's log instead: those that neither Redis nor the spool"
    " took. `-` reads stdin.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def reconcile(
    rebuilds: bool, bill: Path | None, vendors: tuple[str, ...], log: Path | None, as_json: bool
) -> None:
    """Check that the stream, open requests, the spool of this host and the ledger agree.

    Usage in flight is not a problem. Exits with 1 if anything disagrees, is dead-lettered or is
    orphaned, and prints what to do on stderr.
    """
    if sum((rebuilds, bill is not None, log is not None)) > 1:
        raise click.UsageError("Use only one of --rebuild, --bill and --from-log.")
    if bill is not None:
        reconcile_bill(bill, vendors, as_json)
    elif log is not None:
        reconcile_log(log, as_json)
    else:
        _reconcile(rebuilds, as_json)


def _reconcile(rebuilds: bool, as_json: bool) -> None:
    with open_redis() as redis:
        pipeline = read_status(redis)
    spooled = _spooled(Settings.from_env().spool_dir)
    with open_ledger() as engine:
        rollups = _compare(engine, rebuilds)
    problems = [*_of_pipeline(pipeline), *_of_spool(spooled), *_of_rollups(rollups, rebuilds)]
    if as_json:
        click.echo(json.dumps(_as_dict(pipeline, spooled, rollups, rebuilds, problems), indent=2))
    else:
        _print(pipeline, spooled, rollups, rebuilds)
    for problem in problems:
        click.echo(f"! {problem}", err=True)
    if problems:
        sys.exit(1)
    if not as_json:
        click.echo("No problems found.", err=True)


def _compare(engine: Engine, rebuilds: bool) -> Rollups:
    """Compare all rollups with their entries, and recompute them if `rebuilds`."""
    found, label = Rollups(entries=count_entries(engine)), "Entries against rollups"
    with click.progressbar(length=found.entries, label=label, file=sys.stderr) as bar:
        for days in day_ranges(engine):
            differing = differences(engine, days)
            if differing and rebuilds:
                differing = rebuild(engine, days)
            found.differing += len(differing)
            found.listed += differing[: LISTED - len(found.listed)]
            bar.update(days.entry_count)
        bar.finish()
    return found


def _spooled(directory: Path) -> list[SpoolFile]:
    try:
        return spool_files(directory)
    except OSError as exc:
        raise click.ClickException(f"Cannot read the spool in {directory}: {exc}.") from exc


def _of_pipeline(pipeline: PipelineStatus) -> Iterator[str]:
    if pipeline.dead:
        yield f"Events that could not be posted: {pipeline.dead}. List them: tollgate dead list"
    if _is_overdue(pipeline.oldest_waiting_ms):
        yield (
            f"Events have waited since {show_time(pipeline.oldest_waiting_ms or 0)}. Check that a"
            " worker and beat run, and the worker's log for errors of the ledger."
        )
    if _is_overdue(pipeline.oldest_orphaned_ms):
        yield (
            f"Orphaned open requests: {pipeline.open_orphaned}. Check that a worker and"
            " beat run: they post estimates."
        )


def _of_spool(spooled: Iterable[SpoolFile]) -> Iterator[str]:
    orphans = sum(file.is_orphan for file in spooled)
    if orphans:
        yield (
            f"Orphaned spool files: {orphans}. A web process on this host with the same"
            " TOLLGATE_SPOOL_DIR adopts them while Redis is available."
        )


def _of_rollups(rollups: Rollups, rebuilt: bool) -> Iterator[str]:
    if rollups.differing and not rebuilt:
        yield (
            f"Rollups that differ from their entries: {rollups.differing}. Recompute them:"
            " tollgate reconcile --rebuild"
        )


def _is_overdue(since_ms: int | None) -> bool:
    return since_ms is not None and since_ms < (time.time() - PATIENCE_S) * 1000


def _print(
    pipeline: PipelineStatus, spooled: Sequence[SpoolFile], rollups: Rollups, rebuilt: bool
) -> None:
    orphans = sum(file.is_orphan for file in spooled)
    rows: list[tuple[Cell, ...]] = [
        ("events waiting for a worker", pipeline.waiting, f"{pipeline.claimed} claimed"),
        ("requests in flight", pipeline.open_alive, ""),
        ("orphaned requests", pipeline.open_orphaned, ""),
        ("dead-lettered events", pipeline.dead, ""),
        ("spool files of this host", len(spooled), f"{orphans} orphaned"),
        ("ledger entries", rollups.entries, ""),
        ("rollups that differ", rollups.differing, "recomputed" if rebuilt else ""),
    ]
    for line in format_table(("item", "count", ""), rows, pretty=on_terminal()):
        click.echo(line)
    if rollups.differing:
        click.echo()
        for line in _difference_table(rollups):
            click.echo(line)


def _difference_table(rollups: Rollups) -> Iterator[str]:
    headings = ("account", "slot", "key", "model", "missing requests", "missing tokens")
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
    pipeline: PipelineStatus,
    spooled: Iterable[SpoolFile],
    rollups: Rollups,
    rebuilt: bool,
    problems: Sequence[str],
) -> dict[str, Any]:
    return {
        "redis": asdict(pipeline),
        "spool": [asdict(file) | {"path": str(file.path)} for file in spooled],
        "ledger": {
            "entries": rollups.entries,
            "rollups_differing": rollups.differing,
            "rollups_rebuilt": rebuilt,
            "differences": [asdict(difference) for difference in rollups.listed],
        },
        "problems": list(problems),
    }
