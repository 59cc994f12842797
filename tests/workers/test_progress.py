"""How far a cell is, as its worker records it."""

from collections.abc import Iterator

import pytest
from redis import Redis
from sqlalchemy import Engine

from app.ledger.cells import list_cells
from app.storage.sql.engine import create_engine
from app.usage.missing import Search
from app.usage.redis.processes import Processes
from workers.progress import WRITE_S, Progress


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    engine = create_engine(postgres_url)
    yield engine
    engine.dispose()


def test_the_oldest_open_request_is_recorded_every_few_seconds(
    redis: "Redis", engine: Engine
) -> None:
    times_s = [0.0]
    progress = Progress("east", redis, engine, clock_s=lambda: times_s[0])
    assert not progress.record()  # nobody knows yet what is missing
    Processes(redis).store({}, Search(7_000))
    assert progress.record()
    (cell,) = list_cells(engine)
    assert (cell.cell_id, cell.complete_until_ms) == ("east", 7_000)
    times_s[0] = WRITE_S - 0.1
    assert not progress.record()
    times_s[0] = WRITE_S
    assert progress.record()


def test_sqlite_has_no_cells(redis: "Redis", sqlite_url: str) -> None:
    engine = create_engine(sqlite_url)
    assert not Progress("main", redis, engine).record()
    assert list_cells(engine) == []
    engine.dispose()
