"""The database that answers a report, and up to when it is complete."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from app.ledger.cells import Cell, record_cell
from app.ledger.reports import source
from app.ledger.reports.source import Reports, ReportSource
from app.storage.sql.engine import create_engine

NOW_MS = 9_000


def of(engine: Engine, *cells: Cell, is_replica: bool) -> ReportSource:
    return ReportSource(engine, is_replica, cells)


def cell(cell_id: str, complete_until_ms: int) -> Cell:
    return Cell(cell_id, complete_until_ms, NOW_MS)


def test_the_primary_is_as_complete_as_the_own_redis_says(engine: Engine) -> None:
    assert of(engine, is_replica=False).complete_until_ms("a", 5_000) == 5_000
    found = of(engine, cell("a", 1_000), is_replica=False)
    assert found.complete_until_ms("a", 5_000) == 5_000


def test_a_replica_is_as_complete_as_its_own_row_says(engine: Engine) -> None:
    found = of(engine, cell("a", 1_000), is_replica=True)
    assert found.complete_until_ms("a", 5_000) == 1_000


def test_a_replica_without_the_own_row_promises_nothing(engine: Engine) -> None:
    found = of(engine, cell("b", 1_000), is_replica=True)
    assert found.complete_until_ms("a", 5_000) is None


@pytest.mark.parametrize("is_replica", [True, False])
def test_the_cell_that_is_furthest_behind_decides(engine: Engine, is_replica: bool) -> None:
    found = of(engine, cell("a", 4_000), cell("b", 3_000), is_replica=is_replica)
    assert found.complete_until_ms("a", 5_000) == 3_000


@pytest.fixture
def down() -> Iterator[Engine]:
    """A server that does not respond."""
    engine = create_engine("postgresql+psycopg://x:secret@127.0.0.1:1/x")
    yield engine
    engine.dispose()


def test_a_replica_that_fails_is_tried_again_after_a_while(
    engine: Engine, down: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    times_s = [0.0]
    reports = Reports(engine, down, clock_s=lambda: times_s[0])
    tried = []
    for times_s[0] in (1.0, 2.0, source.RETRY_S + 0.5, source.RETRY_S + 1.5):
        assert not reports.open().is_replica
        tried.append(len(caplog.records))
    assert tried == [1, 1, 1, 2]
    assert "secret" not in caplog.text


def test_a_source_has_the_cells_of_its_database(engine: Engine) -> None:
    record_cell(engine, cell("b", 2))
    record_cell(engine, cell("a", 1))
    record_cell(engine, cell("b", 3))
    assert Reports(engine).open().cells == [cell("a", 1), cell("b", 3)]
