"""How far the ledger is complete, for a command."""

import pytest
from sqlalchemy import Engine

from app.cli.completeness import read_completeness
from app.ledger.cells import Cell, record_cell
from app.ledger.invoices.origin import Completeness
from app.ledger.reports.source import Reports
from app.storage.redis.connection import connect
from app.usage.missing import Missing, Search
from app.usage.redis.processes import Processes


def read(engine: Engine) -> Completeness:
    return read_completeness(Reports(engine).open())


def test_without_redis_it_is_what_the_cells_have_recorded(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    assert read(engine) == Completeness()
    record_cell(engine, Cell("main", 5_000, 0))
    record_cell(engine, Cell("other", 4_000, 0))
    assert read(engine) == Completeness(until_ms=4_000)


def test_with_redis_it_is_what_its_worker_has_found(
    engine: Engine, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    assert read(engine) == Completeness()  # no worker has searched yet
    search = Search(9_000, (Missing("web-1", 1, 2, 7_000, 8_000, 8_500),))
    with connect(redis_url, 5.0) as redis:
        Processes(redis).store({}, search)
    assert read(engine).search == search
    record_cell(engine, Cell("main", 5_000, 0))
    assert read(engine) == Completeness(until_ms=7_000, search=search)


def test_a_redis_that_is_down_is_said(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    assert read(engine) == Completeness()
    assert "Check REDIS_URL" in capsys.readouterr().err
