"""Measures queries of a month with 10,000,000 entries of one account, on SQLite and PostgreSQL.

`python -m bench.month [--keep] [DATABASE_URL]`; without a URL, a SQLite file in a temporary folder.
The ledger must be migrated and empty. Filling it takes minutes and about 5 GB.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

import click
import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from app.cli.tables import Cell, format_table
from app.ledger.latencies import recompute_latencies
from app.ledger.measures import ENTRY_MEASURES
from app.ledger.reports.buckets import buckets
from app.ledger.reports.latencies import LatencyReader, LatencyRow
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
from app.vocabulary.completion import USAGE_COUNTS
from bench import results
from bench.figures import QUERIES, TOLLGATE
from bench.machine import load, machine
from bench.results import Record

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
#: Days begin a quarter past an hour, half past one, at an hour that depends on the season, and far
#: from UTC's.
ZONES = ("Asia/Kathmandu", "Asia/Kolkata", "Europe/Berlin", "America/Los_Angeles")

#: The columns of entry `n`, in SQL. Each slot has a rollup for every key and model, as for an
#: account that is always active.
_ROW: Mapping[str, str] = {
    "event_id": "{id}",
    "request_id": "'req'",
    "account_id": "'acme'",
    "api_key_id": "'key_' || (n / {models} % {keys})",
    "user": "'u' || (n % 100)",
    "vendor": "'openai'",
    "model": "'model-' || (n % {models})",
    "vendor_served": "'openai'",
    "stream": "TRUE",
    "status": "'completed'",
    "source": "'vendor'",
    "prompt_source": "'vendor'",
    "completion_source": "'vendor'",
    "prompt_tokens": "n % 900",
    "completion_tokens": "n % 90",
    "total_tokens": "n % 900 + n % 90",
    **{
        name: "0"
        for name in USAGE_COUNTS
        if name not in ("prompt_tokens", "completion_tokens", "total_tokens")
    },
    "http_status": "200",
    "attempts": "1",
    "client_retry_count": "0",
    "started_at_ms": "{start_ms} + n * {step_ms}",
    "first_token_ms": "40 + n % 401",
    "duration_ms": "300 + n % 7919",
    "cost_nanousd": "n % 900 * 150 + n % 90 * 600",
    "price_id": "'openai/model#0'",
}
_SERIES = {
    "sqlite": "(WITH RECURSIVE t(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM t"
    " WHERE n < {last}) SELECT n FROM t)",
    "postgresql": "generate_series({first}::bigint, {last}::bigint) AS t(n)",
}
_ID = {"sqlite": "printf('%032x', n)", "postgresql": "lpad(to_hex(n), 32, '0')"}


@click.command()
@click.argument("url", required=False)
@click.option("--keep", is_flag=True, help=f"Save the result in {results.FOLDER.name}/{QUERIES}/.")
def main(url: str | None, *, keep: bool) -> None:
    """Fill the ledger, time the queries, and print a table."""
    load_before = load()
    with tempfile.TemporaryDirectory() as folder:
        url = database_url({"DATABASE_URL": url or f"sqlite:///{Path(folder) / 'ledger.db'}"})
        upgrade(url)
        engine = create_engine(url)
        click.echo(machine())
        fill(engine)
        found = list(measure(engine))
        kind = engine.dialect.name
        engine.dispose()
    rows: list[list[Cell]] = [
        [it.name, it.rows, f"{it.p50_ms:.1f}", f"{it.worst_ms:.1f}"] for it in found
    ]
    for line in format_table(("query", "rows", "p50 ms", "worst ms"), rows, pretty=True):
        click.echo(line)
    if keep:
        records = [Record(QUERIES, f"{kind}: {it.name}", TOLLGATE, it.figures()) for it in found]
        click.echo(f"Saved: {results.keep(QUERIES, records, load_before)}", err=True)


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of a query in several rounds."""

    name: str
    rows: int
    p50_ms: float
    worst_ms: float

    def figures(self) -> dict[str, float]:
        """Return its metrics, as they are saved."""
        return {"rows": self.rows, "p50_ms": self.p50_ms, "worst_ms": self.worst_ms}


def fill(engine: Engine) -> None:
    """Create the entries and their rollups with SQL statements of the database."""
    started_s = time.monotonic()
    with click.progressbar(range(0, ENTRIES, AT_ONCE), label="Entries", file=sys.stderr) as parts:
        for first in parts:
            write(engine, partial(_add, first=first))
    for width_s in ROLLUP_TABLES:
        write(engine, partial(_sum_up, width_s=width_s))
    summed_s = time.monotonic()
    hours = recompute_latencies(engine)
    click.echo(f"{hours} hours of latencies, computed in {time.monotonic() - summed_s:.0f} s")
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
    columns = ", ".join(f'"{name}"' for name in _ROW)
    statement = f"INSERT INTO entries ({columns}) SELECT {', '.join(_ROW.values())} FROM {series}"  # noqa: S608 - our own
    filled = statement.format(
        id=_ID[kind],
        keys=KEYS,
        models=MODELS,
        start_ms=START_S * 1000,
        step_ms=DAYS * 86_400_000 // ENTRIES,
    )
    connection.exec_driver_sql(filled.replace("%", "%%" if kind == "postgresql" else "%"))


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


def measure(engine: Engine) -> list[Timing]:
    """Return the times of each query."""
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
    latencies = LatencyReader(engine)
    end_s = MONTH.end_s
    for name, query, now_s in (
        ("the month's latencies", MONTH, end_s + DAY_S),
        ("the month's latencies, all accounts", replace(MONTH, account_ids=None), end_s + DAY_S),
        ("a day's latencies", replace(MONTH, start_s=end_s - DAY_S), end_s + DAY_S),
    ):
        asked.append(_time(name, partial(_latencies, latencies, query, now_s)))
    local = [_time(f"by day and model in {zone}", partial(_local, reader, zone)) for zone in ZONES]
    return [asked[0], *local, *asked[1:]]


def _latencies(reader: LatencyReader, query: UsageQuery, now_s: float) -> Sequence[LatencyRow]:
    report = reader.read(query, now_s)
    if report is None or not report.is_complete:
        raise RuntimeError("the latencies are not complete")
    return report.rows


def _local(reader: UsageReader, zone: str) -> list[UsageRow]:
    page = list(buckets(MONTH.start_s, MONTH.end_s, DAY_S, ZoneInfo(zone)))
    return [row for rows in fill_page(reader, MONTH, page, DAY_S).values() for row in rows]


def _time(name: str, ask: Callable[[], Sequence[object]]) -> Timing:
    times_ms = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        rows = ask()
        times_ms.append((time.perf_counter() - started_s) * 1000)
    return Timing(name, len(rows), median(times_ms), max(times_ms))


if __name__ == "__main__":
    main()
