"""Measures what a request and an event cost in Redis and in PostgreSQL: processor time and bytes.

How fast a worker posts is measured by `bench.backlog`.

`python -m bench.capacity [--seconds S] [--events N]`. Web process, worker, beat, Valkey
(append-only file, fsync every second) and PostgreSQL (each commit on the disk) are real and share
this host. Processor time is that of /proc/PID/stat, without what the servers use when idle.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa
from redis import Redis

from app.accounts.accounts import Accounts
from app.devstack.children import Children
from app.storage.redis.keys import EVENTS
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import upgrade
from app.storage.sql.tables import ROLLUP_TABLES
from app.storage.sql.transactions import reading
from bench.backlog import publish, settle
from bench.machine import machine
from bench.procs import processor_s, tree
from bench.servers import durable_postgres
from bench.stage import vendor_at
from bench.starting import wait_until
from bench.target import Target
from bench.tollgate import Tollgate
from bench.wrk import press

CONNECTIONS = 32
IDLE_S = 10.0

#: Within this time, every web process applies changed limits, in seconds (docs/limits.md).
LIMITS_APPLY_S = 10.0
SETTLE_S = 300.0
#: Far more than the load uses.
AMPLE = 10**9
MONTH_S = 30 * 86_400


@dataclass(frozen=True, slots=True)
class Servers:
    """The process ids of the servers by name, and what they use per second when idle."""

    pids: Mapping[str, int]
    idle: Mapping[str, float]

    def used_s(self) -> dict[str, float]:
        """Return the processor seconds of each server so far."""
        return {name: processor_s(pid) for name, pid in self.pids.items()}


@click.command()
@click.option("--seconds", default=30, show_default=True, help="Length of each load.")
@click.option("--events", "count", default=300_000, show_default=True, help="Size of the backlog.")
def main(seconds: int, count: int) -> None:
    """Print what a request costs, with and without limits, and what an event of a backlog costs."""
    click.echo(machine())
    with tempfile.TemporaryDirectory() as name, ExitStack() as exits:
        folder = Path(name)
        server = exits.enter_context(durable_postgres())
        url = server.create("template0")
        upgrade(url)
        vendor = exits.enter_context(vendor_at(folder))
        tollgate = Tollgate(folder / "tollgate", vendor.port, {0, 1}, url)
        around = exits.enter_context(Children(folder / "log", tollgate.environment()))
        tollgate.start_accounting(around)
        web, target, _ = tollgate.start_web(folder / "web", {0, 1})
        exits.callback(web.stop)
        pids = {
            "Redis": around.pid("valkey"),
            "PostgreSQL": server.pid,
            "web": target.pid,
            "worker": around.pid("worker"),
        }
        servers = Servers(pids, _idle(pids))
        click.echo(f"idle, CPU s per s: {_shown(servers.idle, 4)}")
        press(target, CONNECTIONS, 5)
        target.settle()
        _measure_requests("without limits", servers, target, seconds)
        _limit(url)
        _measure_requests("with limits", servers, target, seconds)
        with Redis.from_url(tollgate.redis_url) as redis:
            _measure_backlog(servers, around, redis, url, count)


def _idle(pids: Mapping[str, int]) -> dict[str, float]:
    time.sleep(IDLE_S)  # start-up work must not count as idle use
    before = {name: processor_s(pid) for name, pid in pids.items()}
    time.sleep(IDLE_S)  # the interval whose use is measured
    return {name: (processor_s(pid) - before[name]) / IDLE_S for name, pid in pids.items()}


def _measured(servers: Servers, load: Callable[[], int]) -> tuple[dict[str, float], int, float]:
    """Return each server's processor seconds for a load, its size, and how long it took."""
    before, started_s = servers.used_s(), time.monotonic()
    count = load()
    took_s = time.monotonic() - started_s
    after = servers.used_s()
    used = {it: after[it] - before[it] - took_s * servers.idle[it] for it in before}
    return used, count, took_s


def _measure_requests(name: str, servers: Servers, target: Target, seconds: int) -> None:
    rates = []

    def load() -> int:
        rates.append(press(target, CONNECTIONS, seconds))
        target.settle()
        return rates[0].requests

    used, count, _ = _measured(servers, load)
    click.echo(f"\n{count:,} requests {name}, {rates[0].requests_s:,.0f} requests/s")
    _print_costs(used, count, "request")


def _print_costs(used: Mapping[str, float], count: int, what: str) -> None:
    micros = {name: seconds / count * 1e6 for name, seconds in used.items()}
    click.echo(f"  CPU us per {what}: {_shown(micros, 0)}")
    for name in ("Redis", "PostgreSQL"):
        if micros[name] > 0:
            most = 1e6 / micros[name]
            monthly = most / 2 * MONTH_S / 1e9
            click.echo(
                f"  one core of {name}: {most:,.0f} {what}s/s;"
                f" at half of that, {monthly:.1f} billion in 30 days"
            )


def _shown(figures: Mapping[str, float], digits: int) -> str:
    return ", ".join(f"{name} {value:,.{digits}f}" for name, value in figures.items())


def _limit(url: str) -> None:
    engine = create_engine(url)
    limits: dict[str, Any] = dict.fromkeys(
        ("requests_per_minute", "tokens_per_minute", "budget_nanousd"), AMPLE
    )
    Accounts(engine).set_limits("account", "bench", **limits)
    engine.dispose()
    time.sleep(LIMITS_APPLY_S)  # only a process that has read them checks them


def _measure_backlog(
    servers: Servers, around: Children, redis: "Redis", url: str, count: int
) -> None:
    """Publish events while the worker is stopped, then let it post them."""
    entries_before = _bytes(url)
    with _stopped(around.pid("worker")), _stopped(around.pid("beat")):
        before = redis.info("memory")["used_memory"]
        publish(redis, count)
        settle(redis)
        held = redis.info("memory")["used_memory"] - before
        click.echo(f"\nbacklog: {held / count:,.0f} bytes of Redis per event")

    def load() -> int:
        wait_until(lambda: not redis.xlen(EVENTS), "the ledger has every event", SETTLE_S)
        return count

    with_worker = Servers({k: v for k, v in servers.pids.items() if k != "web"}, servers.idle)
    used, _, _ = _measured(with_worker, load)
    click.echo(f"{count:,} events posted by one worker")
    _print_costs(used, count, "event")
    click.echo(f"  {(_bytes(url) - entries_before) / count:,.0f} bytes of PostgreSQL per event")
    sys.stdout.flush()


@contextmanager
def _stopped(pid: int) -> Iterator[None]:

    for one in list(tree(pid)):
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in list(tree(pid)):
            os.kill(one, signal.SIGCONT)


def _bytes(url: str) -> int:
    """Return the size of entries and rollups, with their indexes."""
    engine = create_engine(url)
    tables = ", ".join(f"'{it.name}'" for it in ROLLUP_TABLES.values())
    statement = (
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname IN"  # noqa: S608
        f" ({tables}) OR (relname LIKE 'entries\\_%' AND relkind = 'r')"
    )
    with reading(engine) as connection:
        found = int(connection.scalar(sa.text(statement)) or 0)
    engine.dispose()
    return found


if __name__ == "__main__":
    main()
