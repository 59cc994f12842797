"""The metrics of usage that the ledger does not have yet."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.reader import UsageReader
from app.observability.backlog import UNPRICED_S, BacklogCollector
from app.pricing.price_book import PriceBook
from app.serving.circuit_breaker import UNTIL, CircuitBreaker
from app.storage.redis.connection import connect
from app.storage.redis.keys import DEAD, EVENTS
from app.storage.sql.engine import create_engine
from app.usage.disk.spool import Spool
from app.usage.missing import Missing, Search
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from app.usage.redis.stores import Stores
from app.usage.redis.stream import EventStream
from app.vendors.table import VendorTable
from app.vendors.vendor import Vendor
from tests.support.events import usage_event

VENDORS = VendorTable(
    [
        Vendor(name="sim", gateway="openai", base_url="http://x/v1"),
        Vendor(name="other", gateway="openai", base_url="http://x/v1"),
        Vendor(name="no_key", gateway="openai", base_url="http://x/v1", missing="NO_KEY"),
    ]
)


@pytest.fixture
def redis(redis_url: str) -> Iterator["Redis"]:
    with connect(redis_url, 5.0) as redis:
        yield redis


@pytest.fixture
def collector(redis: "Redis", engine: Engine, tmp_path: Path) -> BacklogCollector:
    return collector_of(redis, engine, tmp_path)


def collector_of(redis: "Redis", engine: Engine, spool_dir: Path) -> BacklogCollector:
    return BacklogCollector(
        Stores.of(redis),
        UsageReader(engine),
        CircuitBreaker(redis),
        VENDORS,
        spool_dir,
    )


def values(collector: BacklogCollector) -> dict[str, float]:
    """Return the value of each series, by its name and the values of its labels.

    What is free on the disk is left out: it is the machine's.
    """
    return {
        " ".join([sample.name.removeprefix("tollgate_"), *sample.labels.values()]): sample.value
        for family in collector.collect()
        for sample in family.samples
        if sample.name != "tollgate_spool_free_bytes"
    }


def test_without_usage_in_flight_all_counts_are_zero(collector: BacklogCollector) -> None:
    assert values(collector) == {
        "redis_up": 1,
        "backlog_events": 0,
        "backlog_oldest_seconds": 0,
        "open_records": 0,
        "dead_events": 0,
        "posted_events_total": 0,
        "ledger_up": 1,
        "unpriced_requests": 0,
        "vendor_circuit_open sim": 0,
        "vendor_circuit_open other": 0,
        "spool_bytes": 0,
        "spool_usable": 1,
    }


def test_the_families_are_described_without_reading_anything(collector: BacklogCollector) -> None:
    described = [family.name for family in collector.describe()]
    assert sorted(described) == sorted(family.name for family in collector.collect())


def test_events_records_dead_letters_and_spooled_usage_are_counted(
    collector: BacklogCollector, redis: "Redis", tmp_path: Path
) -> None:
    redis.xadd(EVENTS, {"event": b"{}"}, id=f"{int(time.time() * 1000) - 90_000}-1")
    EventStream(redis).publish(usage_event())
    redis.xadd(DEAD, {"event": b"{}"})
    OpenRecords(redis).reopen("event_1", b"{}", 0, "", 0)
    Spool(tmp_path, "other").append("event", b"{}")
    found = values(collector)
    assert (found["backlog_events"], found["dead_events"], found["open_records"]) == (2, 1, 1)
    assert 90 <= found["backlog_oldest_seconds"] < 3_600
    gaps = (
        Missing("web-1", 3, 4, 1, 1, 1),
        Missing("web-1", 7, 7, 1, 1, 1),
        Missing("web-2", 1, 1, 1, 1, time.time_ns() // 1_000_000),  # it may be on its way
    )
    Processes(redis).store({}, Search(1, gaps))
    found = values(collector)
    assert found["missing_events web-1"] == 3
    assert "missing_events web-2" not in found
    assert found["spool_bytes"] == len(b'{"event":{}}\n')


def test_an_open_circuit_is_shown_for_vendors_that_are_configured(
    collector: BacklogCollector, redis: "Redis"
) -> None:
    redis.zadd(UNTIL, {"sim": 2**40, "other": 1, "no_key": 2**40})
    found = {name: value for name, value in values(collector).items() if "circuit" in name}
    assert found == {"vendor_circuit_open sim": 1, "vendor_circuit_open other": 0}


def test_requests_of_the_last_hour_without_a_price_are_counted(
    collector: BacklogCollector, engine: Engine, prices: PriceBook
) -> None:
    now_ms = int(time.time() * 1000)
    old_ms = now_ms - (UNPRICED_S + 900) * 1000
    Ledger(engine, prices).post(
        [
            usage_event(model="x", model_served="x", started_at_ms=now_ms),
            usage_event(model="x", model_served="x", started_at_ms=now_ms - 1_000),
            usage_event(model="m", model_served="m", started_at_ms=now_ms),
            usage_event(model="x", model_served="x", started_at_ms=old_ms),
        ]
    )
    assert values(collector)["unpriced_requests"] == 2


def test_a_redis_that_rejects_writes_is_down_though_its_counts_are_read(
    collector: BacklogCollector, redis: "Redis"
) -> None:
    EventStream(redis).publish(usage_event())
    redis.config_set("maxmemory", 1)
    try:
        found = values(collector)
    finally:
        redis.config_set("maxmemory", 0)
    assert (found["redis_up"], found["backlog_events"]) == (0, 1)


def test_what_is_unavailable_has_only_its_up_metric(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")  # not migrated
    with connect("redis://127.0.0.1:1/0", 0.2) as redis:
        assert values(collector_of(redis, engine, tmp_path / "spool")) == {
            "redis_up": 0,
            "ledger_up": 0,
            "vendor_circuit_open sim": 0,
            "vendor_circuit_open other": 0,
            "spool_bytes": 0,
            "spool_usable": 1,
        }
    engine.dispose()


def test_a_spool_that_cannot_be_written_is_shown_before_it_is_needed(
    collector: BacklogCollector, tmp_path: Path
) -> None:
    free = {name: it for family in collector.collect() for name, _, it, *_ in family.samples}
    assert free["tollgate_spool_free_bytes"] > 0
    in_the_way = tmp_path / "file"
    in_the_way.write_text("a file where the directory should be")
    assert values(replace(collector, spool_dir=in_the_way))["spool_usable"] == 0
