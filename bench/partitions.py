"""Measures PostgreSQL's monthly partitions on a year of entries: before, migrated, and by month.

`python -m bench.partitions [--entries N]`. Three databases of one real server have the same
entries, spread over twelve months: one table as before the migration, the same after it was
migrated while it was in use, and a partition for each month. Takes about 25 minutes and 20 GB.
"""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from statistics import median

import click
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.recent import RecentReader
from app.ledger.retention import prune
from app.pricing.price_book import load_prices
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import MIGRATIONS, upgrade
from app.storage.sql.partitions import months_from
from bench.events import events
from bench.machine import machine
from bench.month import _ROW
from bench.servers import durable_postgres

#: The revision before the one that partitions the table.
BEFORE = "0010-1"
MONTHS = 12
AT_ONCE = 500_000
BATCH = 5_000
ROUNDS = 21

#: Entry `n` of `total`: a UUIDv7, whose time is that of the entry.
_MS = "({first_ms} + n * {span_ms} / {total})"
_HEX = f"lpad(to_hex({_MS}), 12, '0')"
_ID = (
    f"substr({_HEX}, 1, 8) || '-' || substr({_HEX}, 9) || '-7' || lpad(to_hex(n & 4095), 3, '0')"
    " || '-8' || lpad(to_hex((n >> 12) & 4095), 3, '0') || '-' || lpad(to_hex(n), 12, '0')"
)


@dataclass(frozen=True, slots=True)
class Year:
    """The months before the present one: their starts, oldest first, and their end, in Unix ms."""

    starts_ms: tuple[int, ...]

    @property
    def span_ms(self) -> int:
        """The length of the year."""
        return self.starts_ms[-1] - self.starts_ms[0]


def last_year(now_s: float) -> Year:
    """Return the twelve months that end with the present one's start."""
    starts: set[int] = set()
    at_s = now_s
    while len(starts) <= MONTHS:
        (month,) = months_from(at_s, 1)
        starts.add(int(month.start.replace("-", ""), 16))
        at_s = min(starts) / 1000 - 1
    return Year(tuple(sorted(starts)))


@click.command()
@click.option("--entries", "total", type=click.IntRange(min=1000), default=10_000_000)
def main(total: int) -> None:
    """Fill the databases, migrate one, and print the figures."""
    click.echo(machine())
    year = last_year(time.time())
    with durable_postgres() as server:
        plain, migrated, monthly = (server.create("template0") for _ in range(3))
        _migrate_to_before(plain)
        _migrate_to_before(migrated)
        upgrade(monthly)
        _partition(monthly, year)
        for url in (plain, migrated, monthly):
            _fill(url, year, total)
        _measure_migration(migrated)
        engines = {
            "before": create_engine(plain),
            "migrated": create_engine(migrated),
            "by month": create_engine(monthly),
        }
        _measure_queries(engines, year)
        _measure_posting(engines)
        _measure_prune(engines, year)
        for engine in engines.values():
            engine.dispose()


def _migrate_to_before(url: str) -> None:
    """Create a ledger whose entries are one table."""
    engine = create_engine(url)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        command.downgrade(config, BEFORE)
    engine.dispose()


def _partition(url: str, year: Year) -> None:
    """Replace the first partition by one for each month."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE entries_initial")
        for start_ms, _ in pairwise(year.starts_ms):
            (it,) = months_from(start_ms / 1000, 1)
            connection.exec_driver_sql(
                f"CREATE TABLE {it.name} PARTITION OF entries"
                f" FOR VALUES FROM ('{it.start}') TO ('{it.end}')"
            )
        (now,) = months_from(time.time(), 1)
        connection.exec_driver_sql(
            f"CREATE TABLE {now.name} PARTITION OF entries"
            f" FOR VALUES FROM ('{now.start}') TO ('{now.end}')"
        )
    engine.dispose()


def _fill(url: str, year: Year, total: int) -> None:
    engine, started_s = create_engine(url), time.monotonic()
    columns = ", ".join(f'"{name}"' for name in _ROW)
    values = {**_ROW, "event_id": _ID, "started_at_ms": _MS, "account_id": "'a' || (n % 100)"}
    chosen = ", ".join(values.values()).format(
        first_ms=year.starts_ms[0], span_ms=year.span_ms, total=total, models=10, keys=5
    )
    for first in range(0, total, AT_ONCE):
        last = min(total, first + AT_ONCE) - 1
        with engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            connection.execute(
                sa.text(
                    f"INSERT INTO entries ({columns}) SELECT {chosen}"  # noqa: S608 - our own
                    f" FROM generate_series({first}\\:\\:bigint, {last}\\:\\:bigint) AS t(n)"
                )
            )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE entries")
        connection.exec_driver_sql("CHECKPOINT")
    engine.dispose()
    click.echo(f"{total:,} entries made in {time.monotonic() - started_s:.0f} s", err=True)


def _measure_migration(url: str) -> None:
    """Migrate while one thread posts and another one reads; print the longest wait of each."""
    engine, ended = create_engine(url), threading.Event()
    waits_ms: dict[str, list[float]] = {"post": [], "read": []}
    now_ms = time.time_ns() // 1_000_000
    backlog = events(10_000_000, now_ms, 60_000_000)
    reader = RecentReader(engine)
    newest = UsageQuery(0, now_ms // 1000, account_ids=frozenset({"a1"}))

    def repeat(name: str, work: Callable[[], object]) -> None:
        while not ended.is_set():
            started_s = time.perf_counter()
            work()
            waits_ms[name].append((time.perf_counter() - started_s) * 1000)

    works = {
        "post": lambda: Ledger(engine).post(islice(backlog, 10)),
        "read": lambda: reader.requests(newest, 50),
    }
    threads = [threading.Thread(target=repeat, args=it, daemon=True) for it in works.items()]
    for thread in threads:
        thread.start()
    time.sleep(3)  # the usual waits, for comparison
    usual = {name: max(found) for name, found in waits_ms.items()}
    started_s = time.perf_counter()
    upgrade(url)
    click.echo(f"\nmigration, in use: {time.perf_counter() - started_s:.1f} s")
    ended.set()
    for thread in threads:
        thread.join(60)
    for name, found in waits_ms.items():
        click.echo(
            f"  {name}: {len(found):,} meanwhile, p50 {median(found):.1f} ms,"
            f" longest {max(found):.0f} ms (in 3 s before: {usual[name]:.0f} ms)"
        )
    engine.dispose()


def _measure_queries(engines: dict[str, Engine], year: Year) -> None:
    start_s = year.starts_ms[-2] // 1000
    one = UsageQuery(start_s, start_s + 3600, bucket_s=60, account_ids=frozenset({"a1"}))
    all_time = replace(one, start_s=0, end_s=year.starts_ms[-1] // 1000, bucket_s=None)
    queries: dict[str, Callable[[Engine], object]] = {
        "an hour by minute": lambda it: UsageReader(it).rows(one),
        "a day by user": lambda it: UsageReader(it).rows(
            replace(one, end_s=start_s + 86_400, bucket_s=None, group_by=("user",))
        ),
        "an hour of all accounts by minute": lambda it: UsageReader(it).rows(
            replace(one, account_ids=None)
        ),
        "an account's newest 50": lambda it: RecentReader(it).requests(all_time, 50),
        "the newest 50 of all": lambda it: RecentReader(it).requests(
            replace(all_time, account_ids=None), 50
        ),
        "an account's newest 5,000": lambda it: RecentReader(it).requests(all_time, 5000),
    }
    click.echo(f"\nqueries of entries, p50 in ms: {', '.join(engines)}")
    for name, ask in queries.items():
        times = {kind: [_timed_ms(ask, it)] for kind, it in engines.items()}
        for _ in range(ROUNDS - 1):
            for kind, it in engines.items():
                times[kind].append(_timed_ms(ask, it))
        click.echo(f"  {name}: {', '.join(f'{median(it):.1f}' for it in times.values())}")


def _timed_ms(ask: Callable[[Engine], object], engine: Engine) -> float:
    started_s = time.perf_counter()
    ask(engine)
    return (time.perf_counter() - started_s) * 1000


def _measure_posting(engines: dict[str, Engine]) -> None:
    """Post the same number of batches to each database by turns."""
    prices, now_ms = load_prices(), time.time_ns() // 1_000_000
    took_s: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(ROUNDS):
        # Each database is first, second and third equally often.
        turns = list(engines.items())
        for name, engine in turns[number % 3 :] + turns[: number % 3]:
            batch = list(events(BATCH, now_ms + number * 60_000, 60_000))
            started_s = time.perf_counter()
            Ledger(engine, prices).post(batch)
            took_s[name].append(time.perf_counter() - started_s)
    click.echo(f"\nposting batches of {BATCH:,}, {ROUNDS} rounds by turns")
    for name, found in took_s.items():
        ratios = [ours / theirs for ours, theirs in zip(found, took_s["before"], strict=True)]
        click.echo(
            f"  {name}: {BATCH / median(found):,.0f} events/s,"
            f" {median(ratios) - 1:+.1%} of the time before"
        )


def _measure_prune(engines: dict[str, Engine], year: Year) -> None:
    click.echo("\nprune of the oldest month")
    for name, engine in engines.items():
        with engine.begin() as connection:
            before = connection.scalar(sa.text("SELECT pg_current_wal_lsn()"))
        started_s = time.perf_counter()
        removed = sum(prune(engine, year.starts_ms[1] // 1000))
        took_s = time.perf_counter() - started_s
        with engine.begin() as connection:
            written = connection.scalar(
                sa.text("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), :before)"),
                {"before": before},
            )
        click.echo(
            f"  {name}: {removed:,} entries in {took_s:.2f} s, {float(written) / 1e6:,.1f} MB WAL"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
