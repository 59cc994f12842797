"""The consumer on a PostgreSQL that drops its connections, fails over, or restarts."""

import threading
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from redis import Redis
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.storage.sql.engine import create_engine
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import LedgerUnavailable
from tests.support.events import usage_event
from tests.support.processes import join
from tests.support.services.polling import wait_until
from tests.support.services.postgres import Postgres, find_binaries
from tests.workers.contents import entry_count, event_ids, rolled_up, waiting
from workers.consumer import consume

BREAK_ALL = sa.text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = 'tollgate-drain'"
)


@pytest.fixture
def admin(postgres_url: str) -> Iterator[Engine]:
    """The database's operator."""
    engine = create_engine(postgres_url)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    """The consumer's connections, which `admin` breaks."""
    engine = create_engine(f"{postgres_url}&application_name=tollgate-drain")
    yield engine
    engine.dispose()


def drain_all(stream: EventStream, engine: Engine) -> int:
    """Consume as often as beat does; return how often the ledger was unavailable."""
    failures = 0

    def is_done() -> bool:
        nonlocal failures
        try:
            consume(stream, Ledger(engine), consumer="here", limit=20)
        except LedgerUnavailable:
            failures += 1
        return stream.backlog() == 0

    wait_until(is_done, deadline_s=120)
    return failures


def test_connections_that_break_in_the_middle_of_posts_lose_and_double_nothing(
    stream: EventStream, redis: "Redis", engine: Engine, admin: Engine
) -> None:
    published = [usage_event(account_id=f"acct_{number % 7}") for number in range(2000)]
    for event in published:
        stream.publish(event)
    drained, broken = threading.Event(), 0

    def break_connections() -> None:
        nonlocal broken
        while not drained.wait(0.05):
            with admin.connect() as connection:
                broken += len(connection.execute(BREAK_ALL).all())

    breaker = threading.Thread(target=break_connections)
    breaker.start()
    try:
        failures = drain_all(stream, engine)
    finally:
        drained.set()
        join(breaker)
    assert broken > 0
    assert failures > 0
    assert event_ids(engine) == sorted(event.event_id for event in published)
    assert rolled_up(engine) == len(published)
    assert waiting(redis) == (0, 0)


def test_events_wait_while_the_database_only_reads_and_the_pool_finds_the_new_primary(
    stream: EventStream, engine: Engine, admin: Engine
) -> None:
    stream.publish(usage_event())
    consume(stream, Ledger(engine), consumer="here")
    only_reads = "ALTER DATABASE {} SET default_transaction_read_only = {}"
    name = engine.url.database
    with admin.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(sa.text(only_reads.format(name, "on")))
        connection.execute(BREAK_ALL)
        stream.publish(usage_event())
        for _ in range(3):
            with pytest.raises(LedgerUnavailable):
                consume(stream, Ledger(engine), consumer="here")
        assert stream.backlog() == 1
        connection.execute(sa.text("SET default_transaction_read_only = off"))
        connection.execute(sa.text(only_reads.format(name, "off")))
    # The pool's connection would only read for ever: it has been left.
    consume(stream, Ledger(engine), consumer="here")
    assert (entry_count(engine), stream.backlog()) == (2, 0)


@pytest.fixture
def own_postgres(postgres: Postgres) -> Iterator[Postgres]:
    """A PostgreSQL of the test's own, to restart; where there is none at all, `postgres` skips."""
    binaries = find_binaries()
    assert binaries is not None, postgres
    server = Postgres(binaries)
    try:
        yield server.start()
    finally:
        server.stop()


def test_a_server_that_crashes_and_comes_back_has_each_event_once(
    stream: EventStream, redis: "Redis", own_postgres: Postgres
) -> None:
    engine = create_engine(own_postgres.create())
    published = [usage_event() for _ in range(3000)]
    for event in published:
        stream.publish(event)

    def crash() -> None:
        wait_until(lambda: stream.backlog() < len(published), every_s=0.001)
        own_postgres.crash()
        own_postgres.serve()

    crashing = threading.Thread(target=crash)
    crashing.start()
    failures = drain_all(stream, engine)
    join(crashing)
    assert failures > 0
    assert event_ids(engine) == sorted(event.event_id for event in published)
    assert rolled_up(engine) == len(published)
    assert waiting(redis) == (0, 0)
    engine.dispose()
