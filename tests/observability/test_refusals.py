"""Refused requests of one web process, until Redis has them."""

import time
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from redis import Redis

from app.observability import refusals
from app.observability.metrics.metrics import Metrics
from app.observability.refusals import Refusals
from app.storage.redis.connection import connect
from app.usage.redis.refusal_counts import RefusalCounts
from app.usage.refusal import OTHER
from app.vocabulary.errors import StreamTimeout, StreamUnavailable
from tests.support.services.polling import wait_until


@pytest.fixture
def metrics() -> Metrics:
    return Metrics([])


@pytest.fixture
def counter(redis: "Redis", metrics: Metrics) -> Iterator[Refusals]:
    counter = Refusals(RefusalCounts(redis), metrics)
    yield counter
    counter.close()


def waiting(redis: "Redis") -> dict[tuple[str, ...], int]:
    batch = RefusalCounts(redis).take("batch")
    return {it[1:]: number for it, number in batch.counts.items()} if batch else {}


def test_what_was_counted_reaches_redis_by_itself(
    counter: Refusals, redis: "Redis", metrics: Metrics
) -> None:
    before_s = int(time.time())
    counter.count("invalid_api_key", "completions")
    counter.count("invalid_json", "completions", "acme", "key_1")
    counter.count("invalid_json", "completions", "acme", "key_1")
    wait_until(lambda: redis.exists("usage:refusals"))
    batch = RefusalCounts(redis).take("batch")
    assert batch is not None
    assert {it[1:]: number for it, number in batch.counts.items()} == {
        ("", "", "completions", "invalid_api_key"): 1,
        ("acme", "key_1", "completions", "invalid_json"): 2,
    }
    assert all(before_s - 3600 < it.hour_s <= time.time() for it in batch.counts)
    registry = CollectorRegistry()
    registry.register(metrics.collector())
    assert 'reason="invalid_json"} 2.0' in generate_latest(registry).decode()


def test_closing_reports_what_is_left(redis: "Redis", metrics: Metrics) -> None:
    counter = Refusals(RefusalCounts(redis), metrics)
    counter.count("invalid_http")
    counter.close()
    assert waiting(redis) == {("", "", "", "invalid_http"): 1}
    Refusals(RefusalCounts(redis), metrics).close()


def test_too_many_kinds_are_counted_as_other(
    counter: Refusals, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "LIMIT", 1)
    monkeypatch.setattr(refusals, "FLUSH_S", 60.0)
    for account_id in ("a", "a", "b", "c"):
        counter.count("invalid_json", "completions", account_id, "key")
    counter.close()
    assert waiting(redis) == {
        ("a", "key", "completions", "invalid_json"): 2,
        ("", "", "completions", OTHER): 2,
    }


class Lossy(RefusalCounts):
    """Does what it is told, but its first response is lost."""

    failed = False

    def add(self, *args: object) -> None:
        super().add(*args)  # type: ignore[arg-type]
        if not self.failed:
            self.failed = True
            raise StreamTimeout("no response")


def test_a_report_without_a_response_is_repeated_and_counts_once(
    redis: "Redis", metrics: Metrics
) -> None:
    counter = Refusals(Lossy(redis), metrics)
    counter.count("invalid_json")
    with pytest.raises(StreamUnavailable):
        counter.flush()
    counter.count("invalid_json")
    counter.close()
    assert waiting(redis) == {("", "", "", "invalid_json"): 2}


def test_without_redis_requests_are_counted_and_the_loss_is_logged(
    metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    counter = Refusals(RefusalCounts(connect("redis://127.0.0.1:1/0", 0.1)), metrics)
    counter.count("invalid_json")
    counter.count("invalid_json")
    counter.close()
    assert "2 refused requests are not counted" in caplog.text
