"""Measures how fast the Procfile's worker posts a backlog, and with how much processor and memory.

`python -m bench.backlog [--events N] [--database sqlite|postgresql] [--workers K]`. Worker, beat,
Valkey (append-only file, fsync every second) and database (each commit on the disk) are real and
share this host. Exits with 1 if the ledger differs from what was published.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import click
import sqlalchemy as sa
from redis import Redis

from app.devstack.children import Children
from app.pricing.price_book import load_prices
from app.storage.redis.keys import DEAD, EVENTS
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import upgrade
from app.storage.sql.tables import ROLLUP_TABLES, entries
from app.storage.sql.transactions import reading
from bench import procs, results
from bench.events import Sums, add_up, differences, events
from bench.figures import BACKLOG, TOLLGATE
from bench.machine import load, machine
from bench.procfile import command
from bench.results import Record
from bench.samples import Sample, figures, report
from tests.support.services.postgres import Postgres, find_binaries
from tests.support.services.valkey import Valkey

#: Events published in one round trip.
AT_ONCE = 1000
#: The requests of the backlog started in this period before now: an outage of the ledger.
SPAN_MS = 6 * 3_600_000
SAMPLE_S = 0.25
#: How long a worker may take to be ready.
START_S = 60.0
#: Give up if no event is posted for this long.
STALLED_S = 60.0


@dataclass(frozen=True, slots=True)
class Database:
    """The ledger's database: its address, and its server's process if it has one."""

    url: str
    pid: int | None


@click.command()
@click.option("--events", "count", type=click.IntRange(min=1), default=1_000_000, show_default=True)
@click.option("--database", "kind", type=click.Choice(["sqlite", "postgresql"]), default="sqlite")
@click.option("--workers", "workers", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--keep", is_flag=True, help=f"Save the result in {results.FOLDER.name}/{BACKLOG}/.")
def main(count: int, kind: str, workers: int, *, keep: bool) -> None:
    """Post a backlog; print the speed, and whether the ledger is complete."""
    load_before = load()
    with tempfile.TemporaryDirectory() as folder, _database(kind, Path(folder)) as database:
        upgrade(database.url)
        valkey = Valkey(Path(folder), persistent=True, durable=True).start()
        try:
            click.echo(machine())
            with Redis.from_url(valkey.url) as redis:
                expected = publish(redis, count)
                settle(redis)
                samples = post(redis, Path(folder), valkey, database, workers)
                dead_lettered = redis.xlen(DEAD)
        finally:
            valkey.kill()
        for line in report(f"{count:,} events, {kind}, {workers} worker(s)", samples):
            click.echo(line)
        wrong = check(database.url, expected)
    for line in wrong:
        click.echo(line, err=True)
    if keep and not wrong:
        record = Record(BACKLOG, f"{kind}, {workers} worker(s)", TOLLGATE, figures(samples))
        click.echo(f"Saved: {results.keep(BACKLOG, [record], load_before)}", err=True)
    verdict = "WRONG" if wrong or dead_lettered else "every event once"
    click.echo(f"ledger: {verdict}; {dead_lettered} dead-lettered")
    sys.exit(1 if wrong or dead_lettered else 0)


@contextmanager
def _database(kind: str, folder: Path) -> Iterator[Database]:
    if kind == "sqlite":
        yield Database(f"sqlite:///{folder / 'ledger.db'}", None)
        return
    binaries = find_binaries()
    if binaries is None:
        raise click.ClickException("There is no PostgreSQL server here (Debian: postgresql).")
    server = Postgres(binaries, durable=True)
    try:
        server.start()
        yield Database(server.create(), server.pid)
    finally:
        server.stop()


def publish(redis: "Redis", count: int) -> dict[str, Sums]:
    """Append `count` events to the stream; return what each account used."""
    prices, sums = load_prices(), dict[str, Sums]()
    backlog = events(count, time.time_ns() // 1_000_000 - SPAN_MS, SPAN_MS)
    starts = range(0, count, AT_ONCE)
    with click.progressbar(starts, label="Publishing", file=sys.stderr) as parts:
        for _ in parts:
            batch = list(islice(backlog, AT_ONCE))
            add_up(sums, batch, prices)
            with redis.pipeline(transaction=False) as pipe:
                for event in batch:
                    pipe.xadd(EVENTS, {"event": event.encode()})
                pipe.execute()
    return sums


def settle(redis: "Redis") -> None:
    """Wait until Valkey has rewritten its append-only file, which it does after a large load.

    Raises: TimeoutError after STALLED_S.
    """
    limit_s = time.monotonic() + STALLED_S
    while redis.info("persistence")["aof_rewrite_in_progress"]:
        if time.monotonic() > limit_s:
            raise TimeoutError(
                f"Valkey still rewrites its append-only file after {STALLED_S:.0f} s"
            )
        time.sleep(SAMPLE_S)  # between two checks, with a deadline


def post(
    redis: "Redis", folder: Path, valkey: Valkey, database: Database, workers: int
) -> list[Sample]:
    """Start the workers, then beat; return samples from the first posted event to the last."""
    env = {**os.environ, "REDIS_URL": valkey.url, "DATABASE_URL": database.url}
    names = [f"worker{number}" for number in range(workers)]
    with Children(folder / "log", env) as children:
        for name in names:
            children.start(name, [*command("worker"), "--hostname", f"{name}@%h"])
        for name in names:
            log = folder / "log" / f"{name}.log"
            children.wait_until(partial(is_ready, log), name, START_S)
        roots = [children.pid(name) for name in names]
        services = [valkey.pid] if database.pid is None else [valkey.pid, database.pid]
        started_s = time.monotonic()

        def sample() -> Sample:
            return Sample(
                time.monotonic() - started_s,
                redis.xlen(EVENTS),
                sum(map(procs.processor_s, roots)),
                sum(map(procs.processor_s, services)),
                sum(map(procs.memory_mb, roots)),
            )

        children.start("beat", command("beat"))
        return list(watch(sample, children.check))


def is_ready(log: Path) -> bool:
    """Return whether a worker has logged that it is ready."""
    return " ready." in log.read_text()


def watch(sample: Callable[[], Sample], check: Callable[[], None]) -> Iterator[Sample]:
    """Yield samples until the backlog is empty; print progress to stderr.

    Raises: TimeoutError if no event is posted for STALLED_S; what `check` raises.
    """
    last = first = sample()
    yield first
    moved_s = first.at_s
    with click.progressbar(length=first.waiting, label="Posting", file=sys.stderr) as bar:
        while last.waiting:
            time.sleep(SAMPLE_S)  # between two samples, with a deadline for the next event
            check()
            now = sample()
            bar.update(last.waiting - now.waiting)
            moved_s = now.at_s if now.waiting < last.waiting else moved_s
            if now.at_s - moved_s > STALLED_S:
                raise TimeoutError(f"{now.waiting:,} events wait, and none is posted")
            last = now
            yield now


def check(url: str, expected: dict[str, Sums]) -> list[str]:
    """Compare entries and rollups with what was published; return a line per difference."""
    engine = create_engine(url)
    priced = sa.func.count(entries.c.cost_nanousd)
    found = {"entries": _sums(engine, entries, sa.func.count(), priced)}
    for table in ROLLUP_TABLES.values():
        counts = (sa.func.sum(table.c.requests), sa.func.sum(table.c.priced_requests))
        found[table.name] = _sums(engine, table, *counts)
    engine.dispose()
    return [
        f"{name}: {line}" for name, sums in found.items() for line in differences(expected, sums)
    ]


def _sums(
    engine: sa.Engine,
    table: sa.Table,
    requests: sa.ColumnElement[int],
    priced: sa.ColumnElement[int],
) -> dict[str, Sums]:
    measures = (table.c.prompt_tokens, table.c.completion_tokens, table.c.cost_nanousd)
    totals = [sa.func.coalesce(sa.func.sum(measure), 0) for measure in measures]
    statement = sa.select(table.c.account_id, requests, *totals, priced)
    with reading(engine) as connection:
        rows = connection.execute(statement.group_by(table.c.account_id)).all()
    return {row[0]: Sums(*map(int, row[1:])) for row in rows}


if __name__ == "__main__":
    main()
