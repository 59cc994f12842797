"""For `tollgate reconcile`: compares what was opened, the stream, the spool and the ledger."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
from msgspec import structs
from sqlalchemy import Engine

from app.cli.ledger import open_ledger
from app.cli.reconcile_cells import cell_problems
from app.cli.reconcile_missing import (
    missing_table,
    problems_of_missing,
    search_missing,
    write_off_missing,
)
from app.cli.stream import open_redis
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import show_time
from app.ledger.latencies import recompute_latencies
from app.ledger.reconcile import Difference, count_entries, day_ranges, differences, rebuild
from app.settings import Settings
from app.usage.disk.spool import SpoolFile, spool_files
from app.usage.missing import Search, count_missing
from app.usage.redis.pipeline_status import PipelineStatus, read_status

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


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in all places; `rebuilt`: rollups that differed were recomputed."""

    pipeline: PipelineStatus
    search: Search
    spooled: Sequence[SpoolFile]
    rollups: Rollups
    rebuilt: bool
    of_cells: Sequence[str]


def reconcile_books(rebuilds: bool, writes_off: bool, as_json: bool) -> None:
    """Print what is in which place, and what to do about problems, which exit with 1.

    Raises: ClickException.
    """
    found = _look(rebuilds, writes_off)
    problems = list(_problems(found))
    if as_json:
        click.echo(json.dumps(_as_dict(found, problems), indent=2))
    else:
        _print(found)
    for problem in problems:
        click.echo(f"! {problem}", err=True)
    if problems:
        sys.exit(1)
    if not as_json:
        click.echo("No problems found.", err=True)


def _look(rebuilds: bool, writes_off: bool) -> Findings:
    settings = Settings.from_env()
    with open_redis() as redis, open_ledger() as engine:
        pipeline = read_status(redis)
        search = search_missing(redis, engine, settings)
        if writes_off:
            write_off_missing(engine, search)
            search = search_missing(redis, engine, settings)
        rollups, cells = _compare(engine, rebuilds), tuple(cell_problems(engine))
    return Findings(pipeline, search, _spooled(settings.spool_dir), rollups, rebuilds, cells)


def _problems(found: Findings) -> Iterator[str]:
    yield from _of_pipeline(found.pipeline)
    yield from problems_of_missing(found.search)
    yield from _of_spool(found.spooled)
    yield from _of_rollups(found.rollups, found.rebuilt)
    yield from found.of_cells


def _compare(engine: Engine, rebuilds: bool) -> Rollups:
    """Compare all rollups with their entries, and recompute them if `rebuilds`."""
    found, label = Rollups(entries=count_entries(engine)), "Entries against rollups"
    with click.progressbar(length=found.entries, label=label, file=sys.stderr) as bar:
        for days in day_ranges(engine):
            differing = differences(engine, days, accepts_former=not rebuilds)
            if differing and rebuilds:
                differing = rebuild(engine, days)
            found.differing += len(differing)
            found.listed += differing[: LISTED - len(found.listed)]
            bar.update(days.entry_count)
        if rebuilds:
            recompute_latencies(engine)
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


def _print(found: Findings) -> None:
    pipeline, rollups = found.pipeline, found.rollups
    orphans = sum(file.is_orphan for file in found.spooled)
    rows: list[tuple[Cell, ...]] = [
        ("events waiting for a worker", pipeline.waiting, f"{pipeline.claimed} claimed"),
        ("requests in flight", pipeline.open_alive, ""),
        ("orphaned requests", pipeline.open_orphaned, ""),
        ("dead-lettered events", pipeline.dead, ""),
        ("missing requests", count_missing(found.search.missing), ""),
        ("spool files of this host", len(found.spooled), f"{orphans} orphaned"),
        ("ledger entries", rollups.entries, ""),
        ("rollups that differ", rollups.differing, "recomputed" if found.rebuilt else ""),
    ]
    for line in format_table(("item", "count", ""), rows, pretty=on_terminal()):
        click.echo(line)
    tables = [missing_table(found.search)] if found.search.missing else []
    tables += [_difference_table(rollups)] if rollups.differing else []
    for table in tables:
        click.echo()
        for line in table:
            click.echo(line)


def _difference_table(rollups: Rollups) -> Iterator[str]:
    headings = ("account", "slot", "key", "model", "endpoint", "missing requests", "missing tokens")
    shown = rollups.listed[:SHOWN]
    rows: list[tuple[Cell, ...]] = [
        (
            it.account_id,
            show_time(it.slot_s * 1000),
            it.api_key_id,
            f"{it.vendor}/{it.model}",
            it.endpoint or "all",
            it.lacks.get("requests", 0),
            it.lacks.get("total_tokens", 0),
        )
        for it in shown
    ]
    yield from format_table(headings, rows, pretty=on_terminal())
    if rollups.differing > len(shown):
        yield f"and {rollups.differing - len(shown)} more"


def _as_dict(found: Findings, problems: Sequence[str]) -> dict[str, Any]:
    rollups = found.rollups
    return {
        "redis": asdict(found.pipeline),
        "missing": [structs.asdict(gap) for gap in found.search.missing],
        "spool": [asdict(file) | {"path": str(file.path)} for file in found.spooled],
        "ledger": {
            "entries": rollups.entries,
            "rollups_differing": rollups.differing,
            "rollups_rebuilt": found.rebuilt,
            "differences": [asdict(difference) for difference in rollups.listed],
        },
        "problems": list(problems),
    }
