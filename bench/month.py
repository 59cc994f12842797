"""A month of 10,000,000 entries of one account, asked by day and model: on SQLite and PostgreSQL.

`python -m bench.month [DATABASE_URL]`; without a URL, a SQLite file in a temporary folder. The
ledger must be an empty, migrated one; filling it takes minutes and some 5 GB.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

import click
import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from app.cli.tables import format_table
from app.ledger.measures import ENTRY_MEASURES
from app.ledger.reports.buckets import buckets
from app.ledger.reports.pages import fill as fill_page
from app.ledger.reports.query import GroupKey, UsageQuery, UsageRow
from app.ledger.reports.reader import UsageReader
from app.settings import database_url
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import upgrade
from app.storage.sql.tables import (
    DAY_S,
    ROLLUP_KEY,
    ROLLUP_MEASURES,
    ROLLUP_TABLES,
    entries,
    rollups,
)
from app.storage.sql.transactions import write
from bench.machine import machine

ENTRIES = 10_000_000
AT_ONCE = 500_000
DAYS, KEYS, MODELS = 30, 5, 10
#: Midnight, 2026-10-01 UTC: in this month, clocks in Europe change.
START_S = 1_790_812_800
MONTH = UsageQuery(
    START_S,
    START_S + DAYS * 86_400,
    bucket_s=86_400,
    account_ids=frozenset({"acme"}),
    group_by=("model",),
)
ROUNDS = 15
#: Where days begin a quarter after an hour, half past one, at another hour (by the season), and far
#: from UTC's.
ZONES = ("Asia/Kathmandu", "Asia/Kolkata", "Europe/Berlin", "America/Los_Angeles")

#: Each slot has a rollup of every key and model, as of an account that never rests.
_ENTRY = """
INSERT INTO entries ({columns})
SELECT {id}, 'req', 'acme', 'key_' || (n / {models} % {keys}), 'u' || (n % 100), 'openai',
    'model-' || (n % {models}), 'openai', NULL, TRUE, 'completed', 'vendor',
    n % 900, n % 90, n % 900 + n % 90, 0, 0, 0, 0, 0, 0, 0, NULL, 200, 1, 0,
    {start_ms} + n * {step_ms}, 40, 900, n % 900 * 150 + n % 90 * 600, 'openai/model#0'
FROM {series}
"""
_SERIES = {
    "sqlite": "(WITH RECURSIVE t(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM t"
    " WHERE n < {last}) SELECT n FROM t)",
    "postgresql": "generate_series({first}::bigint, {last}::bigint) AS t(n)",
}
_ID = {"sqlite": "printf('%032x', n)", "postgresql": "lpad(to_hex(n), 32, '0')"}


def main(url: str | None = None) -> None:
    """Fill the ledger, measure, print a table."""
    with tempfile.TemporaryDirectory() as folder:
        url = database_url({"DATABASE_URL": url or f"sqlite:///{Path(folder) / 'ledger.db'}"})
        upgrade(url)
        engine = create_engine(url)
        click.echo(machine())
        fill(engine)
        for line in format_table(
            ("query", "rows", "p50 ms", "worst ms"), measure(engine), pretty=True
        ):
            click.echo(line)
        engine.dispose()


def fill(engine: Engine) -> None:
    """Make the entries, and their rollups, with the database's own hands."""
    started_s = time.monotonic()
    with click.progressbar(range(0, ENTRIES, AT_ONCE), label="Entries", file=sys.stderr) as parts:
        for first in parts:
            write(engine, partial(_add, first=first))
    for width_s in ROLLUP_TABLES:
        write(engine, partial(_sum_up, width_s=width_s))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
        counts = [
            connection.scalar(sa.select(sa.func.count()).select_from(table))
            for table in (entries, rollups)
        ]
    click.echo(
        f"{engine.dialect.name}: {counts[0]:,} entries, {counts[1]:,} rollups,"
        f" made in {time.monotonic() - started_s:.0f} s\n"
    )


def _add(connection: Connection, *, first: int) -> None:
    kind = connection.dialect.name
    if kind == "postgresql":
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    series = _SERIES[kind].format(first=first, last=first + AT_ONCE - 1)
    connection.exec_driver_sql(
        _ENTRY.format(
            columns=", ".join(f'"{column.name}"' for column in entries.c),
            id=_ID[kind],
            keys=KEYS,
            models=MODELS,
            start_ms=START_S * 1000,
            step_ms=DAYS * 86_400_000 // ENTRIES,
            series=series,
        ).replace("%", "%%" if kind == "postgresql" else "%")
    )


def _sum_up(connection: Connection, *, width_s: int) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    slot = sa.literal_column(str(width_s), sa.BigInteger)
    millis = sa.literal_column(str(width_s * 1000), sa.BigInteger)
    slot_s = (entries.c.started_at_ms // millis * slot).label("slot_s")
    key = [slot_s if name == "slot_s" else entries.c[name] for name in ROLLUP_KEY]
    source = sa.select(*key, *ENTRY_MEASURES).subquery()
    keys = [source.c[name] for name in ROLLUP_KEY]
    sums = [sa.cast(sa.func.sum(source.c[name]), sa.BigInteger) for name in ROLLUP_MEASURES]
    connection.execute(
        ROLLUP_TABLES[width_s]
        .insert()
        .from_select(
            (*ROLLUP_KEY, *ROLLUP_MEASURES), sa.select(*keys, *sums).group_by(*keys).order_by(*keys)
        )
    )


def measure(engine: Engine) -> list[tuple[str, int, str, str]]:
    """Return a line for each query."""
    reader = UsageReader(engine)
    by_key: tuple[GroupKey, ...] = ("api_key",)
    queries = {
        "the month by day and model": MONTH,
        "the month by day and key": replace(MONTH, group_by=by_key),
        "the month from its second hour, one row": replace(
            MONTH, start_s=MONTH.start_s + 3_600, bucket_s=None, group_by=()
        ),
        "a week by hour and model": replace(
            MONTH, end_s=MONTH.start_s + 7 * 86_400, bucket_s=3_600
        ),
        "an hour by minute, from entries": replace(MONTH, end_s=MONTH.start_s + 3_600, bucket_s=60),
    }
    asked = [_time(name, partial(reader.rows, query)) for name, query in queries.items()]
    local = [_time(f"by day and model in {zone}", partial(_local, reader, zone)) for zone in ZONES]
    return [asked[0], *local, *asked[1:]]


def _local(reader: UsageReader, zone: str) -> list[UsageRow]:
    page = list(buckets(MONTH.start_s, MONTH.end_s, DAY_S, ZoneInfo(zone)))
    return [row for rows in fill_page(reader, MONTH, page, DAY_S).values() for row in rows]


def _time(name: str, ask: Callable[[], list[UsageRow]]) -> tuple[str, int, str, str]:
    times_ms = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        rows = ask()
        times_ms.append((time.perf_counter() - started_s) * 1000)
    return name, len(rows), f"{median(times_ms):.1f}", f"{max(times_ms):.1f}"


if __name__ == "__main__":
    main(*sys.argv[1:2])
