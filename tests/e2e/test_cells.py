"""Two cells, each with its own Redis, web process, worker and vendors, that post to one ledger."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy as sa
from redis import Redis
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.ledger.cells import list_cells
from app.ledger.reconcile import day_ranges, differences
from app.storage.redis.keys import EVENTS, OPEN
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from app.usage.redis.stream import EventStream
from tests.e2e.deployment import celery
from tests.support.gateway import gunicorn
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor


@dataclass
class Cell:
    """A running cell. Its vendor entry has its name."""

    name: str
    base_url: str
    vendor: SimulatedVendor
    redis: "Redis"
    #: The group of its worker's processes.
    worker_pid: int

    def post(self, key: str, user: str, **headers: str) -> requests.Response:
        body = {"model": f"{self.name}/m", "prompt": "one two", "max_tokens": 6, "user": user}
        headers = {"x-api-key": key, **headers}
        return requests.post(f"{self.base_url}/completions", json=body, headers=headers, timeout=60)

    def complete_until_s(self, key: str) -> int:
        url = f"{self.base_url}/organization/usage/completions?start_time=1"
        found = requests.get(url, headers={"x-api-key": key}, timeout=60)
        return int(found.headers.get("x-tollgate-complete-until", 0))

    def is_settled(self) -> bool:
        return not self.redis.hlen(OPEN) and not self.redis.xlen(EVENTS)


@dataclass
class Cells:
    """Both cells and their ledger, with a key for completions and one for reports."""

    east: Cell
    west: Cell
    engine: Engine
    key: str
    reports: str

    def both(self) -> tuple[Cell, Cell]:
        return self.east, self.west

    def entries(self, **of: Any) -> Counter[str]:
        """Return the number of entries by vendor, once nothing is under way."""
        wait_until(lambda: all(cell.is_settled() for cell in self.both()))
        where = [entries.c[name] == value for name, value in of.items()]
        with reading(self.engine) as connection:
            return Counter(connection.scalars(sa.select(entries.c.vendor).where(*where)).all())


@contextmanager
def cell(name: str, root: Path, database_url: str) -> Iterator[Cell]:
    root.mkdir()
    valkey, vendor = Valkey(root).start(), SimulatedVendor()
    table = root / "vendors.toml"
    table.write_text(f'[vendors.{name}]\ngateway = "openai"\nbase_url = "{vendor.url}"\n')
    env = {
        "REDIS_URL": valkey.url,
        "TOLLGATE_CELL": name,
        "DATABASE_URL": database_url,
        "TOLLGATE_VENDORS": str(table),
        "TOLLGATE_SPOOL_DIR": str(root / "spool"),
    }
    try:
        with (
            celery(env, root / "worker.log") as worker,
            gunicorn(env, root / "web.log") as (url, _),
            Redis.from_url(valkey.url) as redis,
        ):
            yield Cell(name, url, vendor, redis, worker.pid)
    finally:
        vendor.stop()
        valkey.stop()


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory, lent_databases: Any) -> Iterator[Cells]:
    root, url = tmp_path_factory.mktemp("cells"), lent_databases.lend()
    engine = create_engine(url)
    accounts = Accounts(engine)
    accounts.create("acme", "Acme")
    key = accounts.create_key(["acme"], ["completions"])[1]
    reports = accounts.create_key([], ["admin"])[1]
    with ExitStack() as stack:
        east, west = (
            stack.enter_context(cell(name, root / name, url)) for name in ("east", "west")
        )
        yield Cells(east, west, engine, key, reports)
    engine.dispose()
    lent_databases.take_back(url)


def test_the_books_of_both_balance(cells: Cells) -> None:
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(cell.post, cells.key, f"{cell.name}-{number}")
            for number in range(40)
            for cell in cells.both()
        ]
    assert {it.result().status_code for it in asked} == {200}
    assert cells.entries() == {cell.name: len(cell.vendor.asked) for cell in cells.both()}
    assert cells.entries() == {"east": 40, "west": 40}
    lacking = [it for days in day_ranges(cells.engine) for it in differences(cells.engine, days)]
    assert lacking == []


def test_usage_is_complete_as_far_as_both_cells_are(cells: Cells) -> None:
    """Each cell knows its own Redis; of the other one, what its worker recorded."""
    wait_until(lambda: len(list_cells(cells.engine)) == 2)
    stop(cells.west)
    try:
        assert cells.west.post(cells.key, "waits").status_code == 200
        waiting = EventStream(cells.west.redis)
        wait_until(waiting.backlog)
        begun_s = min(it.started_at_ms for it in waiting.numbered()) // 1000
        assert cells.east.complete_until_s(cells.reports) <= begun_s
        assert cells.west.complete_until_s(cells.reports) <= begun_s
    finally:
        resume(cells.west)
    wait_until(lambda: cells.east.complete_until_s(cells.reports) > begun_s)
    assert cells.entries(user="waits") == {"west": 1}


def stop(cell: Cell) -> None:
    """Stop all processes of its worker."""
    os.killpg(cell.worker_pid, signal.SIGSTOP)


def resume(cell: Cell) -> None:
    """Let them go on."""
    os.killpg(cell.worker_pid, signal.SIGCONT)


def test_rates_are_limited_in_each_cell_and_keys_of_repeats_are_known_in_one(cells: Cells) -> None:
    """What docs/scaling.md says that cells do not share."""
    accounts = Accounts(cells.engine)
    accounts.create("small", "Small")
    key = accounts.create_key(["small"], ["completions"])[1]
    accounts.set_limits("account", "small", requests_per_minute=1)
    for one in cells.both():
        assert one.post(key, "first").status_code == 200
        assert one.post(key, "second").status_code == 429
    repeats = {"idempotency-key": "one"}
    for one in (cells.east, cells.east, cells.west):
        assert one.post(cells.key, "repeated", **repeats).status_code == 200
    assert cells.entries(user="repeated") == {"east": 1, "west": 1}
