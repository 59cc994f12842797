"""Reports from a read replica: what they contain, and up to when they say that it is complete."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Engine

from app.container import EXTENSION
from app.ledger.cells import list_cells
from app.ledger.posting import Ledger
from app.ledger.reports import source as source_module
from app.ledger.reports.source import Reports
from app.observability.missing_check import MissingCheck
from app.settings import Settings
from app.storage.redis.connection import connect
from app.storage.sql.engine import create_engine
from app.usage.messages.event import UsageEvent
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import LedgerUnavailable
from tests.api.usage_site import Site, at, make_site, tokens
from tests.support.services.polling import wait_until
from tests.support.services.postgres import Postgres, find_binaries
from tests.support.services.replica import Replica
from workers.consumer import consume
from workers.progress import Progress

#: Requests begin after this; reports begin with it.
BEGUN_S = int(time.time()) - 2 * 86_400


@pytest.fixture(scope="module")
def replica(postgres: Postgres) -> Iterator[Replica]:
    """A streaming replica of the server that the tests use."""
    binaries = find_binaries()
    assert binaries is not None
    server = Replica(binaries, postgres)
    try:
        yield server.start()
    finally:
        server.stop()


@dataclass
class Replicated:
    """A site whose reports come from a replica, and its worker."""

    site: Site
    replica: Replica
    stream: EventStream
    records: OpenRecords
    ledger: Ledger
    check: MissingCheck
    progress: Progress

    def request(self, start_s: int) -> UsageEvent:
        """Open a request."""
        event = at(start_s)
        self.records.reopen(event.event_id, event.encode(), "", 0)
        return event

    def work(self) -> None:
        """Do what the worker does every few seconds."""
        consume(self.stream, self.ledger, consumer="worker")
        self.check.find(time.time_ns() // 1_000_000)
        assert self.progress.record()

    def report(self) -> tuple[int, int | None]:
        """Return a report's tokens, and up to when it says that it is complete."""
        response = self.site.get({"start_time": BEGUN_S, "limit": 31})
        assert response.status_code == 200, response.text
        until = response.headers.get("x-tollgate-complete-until")
        return tokens(response.get_json()["data"]), int(until) if until else None

    def shows(self, tokens: int) -> Callable[[], bool]:
        return lambda: self.report()[0] == tokens


@pytest.fixture
def replicated(
    replica: Replica, settings: Settings, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Replicated]:
    monkeypatch.setattr(source_module, "RETRY_S", 0.0)
    read_url = replica.url_of(postgres_url)
    settings = replace(settings, database_url=postgres_url, database_read_url=read_url)
    reader = create_engine(read_url)
    wait_until(lambda: _is_empty(reader))
    site = make_site(settings)
    redis = connect(settings.redis_url, settings.redis_timeout_s)
    records = OpenRecords(redis)
    check = MissingCheck(redis, site.engine)
    progress = Progress("main", redis, site.engine, clock_s=_ever_later())
    stream, ledger = EventStream(redis), Ledger(site.engine)
    yield Replicated(site, replica, stream, records, ledger, check, progress)
    replica.serve()
    replica.resume_replay()
    reports = _reports(site).open()
    site.close()
    for engine in (reader, reports.engine):
        engine.dispose()


def _ever_later() -> Callable[[], float]:
    times = iter(range(0, 10**6, 60))
    return lambda: float(next(times))


def _reports(site: Site) -> Reports:
    reports: Reports = site.client.application.extensions[EXTENSION].reports
    return reports


def _is_empty(engine: Engine) -> bool:
    try:
        return list_cells(engine) == []
    except LedgerUnavailable:  # its tables are on their way
        return False


def test_a_report_comes_from_the_replica_and_is_never_called_more_complete_than_it_is(
    replicated: Replicated,
) -> None:
    first = replicated.request(BEGUN_S)
    replicated.stream.publish(first)
    replicated.work()
    wait_until(lambda: replicated.report()[0] == 5 and replicated.report()[1])
    _, until_s = replicated.report()
    assert until_s is not None
    assert until_s > BEGUN_S

    replicated.replica.pause_replay()
    second = replicated.request(until_s + 1)
    replicated.stream.publish(second)
    replicated.work()
    assert replicated.stream.backlog() == 0  # the primary has it, and Redis knows nothing of it
    for _ in range(3):
        assert replicated.report() == (5, until_s)
        replicated.work()

    replicated.replica.resume_replay()
    wait_until(replicated.shows(10))

    def is_later() -> bool:
        replicated.work()
        return (replicated.report()[1] or 0) > until_s

    wait_until(is_later)


def test_a_request_under_way_holds_the_replica_back_as_it_does_the_primary(
    replicated: Replicated,
) -> None:
    replicated.request(BEGUN_S - 500)
    replicated.work()
    wait_until(lambda: replicated.report()[1] == BEGUN_S - 500)


def test_before_the_worker_has_recorded_anything_no_time_is_promised(
    replicated: Replicated,
) -> None:
    assert replicated.report() == (0, None)


def test_a_replica_that_is_down_is_replaced_by_the_primary_and_comes_back(
    replicated: Replicated, caplog: pytest.LogCaptureFixture
) -> None:
    replicated.work()
    replicated.replica.pause_replay()
    replicated.stream.publish(replicated.request(BEGUN_S))
    replicated.work()
    assert replicated.report()[0] == 0
    replicated.replica.crash()
    tokens_found, until_s = replicated.report()
    assert tokens_found == 5
    assert until_s is not None
    assert until_s >= int(time.time()) - 10
    assert "the read replica is unavailable" in caplog.text
    replicated.replica.serve()
    wait_until(lambda: _reports(replicated.site).open().is_replica)


def test_keys_and_limits_do_not_wait_for_the_replica(replicated: Replicated) -> None:
    replicated.replica.pause_replay()
    site = replicated.site
    accounts = site.client.application.extensions[EXTENSION].accounts
    site.keys["new"] = accounts.create_key([], ["admin"])[1]
    assert site.get({"start_time": BEGUN_S}, "new").status_code == 200
