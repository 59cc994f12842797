"""Fixtures of the workers' tests: an empty stream and an empty ledger, both real."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from redis import Redis
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.storage.sql.engine import create_engine
from app.usage.redis.stream import EventStream


@pytest.fixture
def stream(redis: "Redis") -> EventStream:
    """An empty stream on which a claim is left over at once."""
    return EventStream(redis, claim_idle_ms=0)


@pytest.fixture
def ledger_engine(database_url: str) -> Iterator[Engine]:
    """An empty ledger's database, once SQLite and once PostgreSQL."""
    engine = create_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def ledger(ledger_engine: Engine) -> Ledger:
    """An empty ledger."""
    return Ledger(ledger_engine)


@pytest.fixture
def sqlite_ledger(sqlite_url: str) -> Iterator[Ledger]:
    """An empty ledger, only on SQLite."""
    engine = create_engine(sqlite_url)
    yield Ledger(engine)
    engine.dispose()


@pytest.fixture
def rejecting_engine(ledger_engine: Engine) -> Engine:
    """The ledger's database, made to reject every event of the model `bad`."""
    refusal = {
        "sqlite": "CREATE TRIGGER refuse BEFORE INSERT ON entries WHEN NEW.model = 'bad'"
        " BEGIN SELECT RAISE(ABORT, 'refused'); END",
        "postgresql": "ALTER TABLE entries ADD CHECK (model <> 'bad')",
    }
    with ledger_engine.begin() as connection:
        connection.execute(sa.text(refusal[ledger_engine.dialect.name]))
    return ledger_engine
