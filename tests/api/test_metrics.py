"""`GET /metrics`, in one process and in several."""

import dataclasses
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from app.ledger.posting import Ledger
from app.pricing.price_book import load_prices
from app.settings import Settings
from app.storage.redis.keys import DEAD
from tests.support.events import usage_event
from tests.support.gateway import Gateway, gunicorn, running, with_account
from tests.support.processes import join
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import CUT, Reply, SimulatedVendor, completed

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(base_url: str) -> Samples:
    """Read the metrics as Prometheus does."""
    answer = requests.get(base_url.removesuffix("/v5") + "/metrics", timeout=60)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    """The value of one series; 0 where there is none yet."""
    return samples.get((name, frozenset(labels.items())), 0.0)


def test_what_happened_and_what_waits_is_told(gateway: Gateway) -> None:
    """No account, key or user is a label."""
    gateway.post({"model": "sim/m", "prompt": "hi", "user": "somebody"})
    gateway.post({"model": "sim/m", "prompt": 5})
    wait_until(lambda: _completed(gateway.base_url) == 1)
    gateway.redis.xadd(DEAD, {"event": "x"})
    samples = scraped(gateway.base_url)
    route = {"route": "/v5/completions"}
    assert value(samples, "tollgate_http_requests_total", status="200", **route) == 1
    assert value(samples, "tollgate_http_requests_total", status="400", **route) == 1
    labels = {"endpoint": "completions", "vendor": "sim", "model": "m"}
    assert value(samples, "tollgate_completions_total", status="completed", **labels) == 1
    assert value(samples, "tollgate_backlog_events") == 1
    assert value(samples, "tollgate_backlog_oldest_seconds") >= 0
    assert value(samples, "tollgate_dead_events") == 1
    assert value(samples, "tollgate_redis_up") == 1
    assert ("tollgate_vendor_circuit_open", frozenset({("vendor", "sim")})) in samples
    text = str(samples)
    assert not any(word in text for word in ("acme", gateway.key_id, "somebody"))


def test_an_open_stream_is_counted_while_it_is_open(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    """Also as an open record, which all machines share."""
    go_on = threading.Event()
    whole = completed({"stream": True, "model": "m", "prompt": "hi"})
    vendor.reply(Reply([go_on, *whole.body], headers=whole.headers))
    asking = threading.Thread(
        target=gateway.post, args=[{"model": "sim/m", "prompt": "hi", "stream": True}]
    )
    asking.start()
    wait_until(
        lambda: value(scraped(gateway.base_url), "tollgate_open_completions", stream="true") == 1
    )
    assert value(scraped(gateway.base_url), "tollgate_open_records") == 1
    go_on.set()
    join(asking)
    wait_until(
        lambda: value(scraped(gateway.base_url), "tollgate_open_completions", stream="true") == 0
    )


def test_requests_without_a_price_are_told_and_a_ledger_that_is_away_is_too(
    gateway: Gateway, settings: Settings
) -> None:
    """Those of the last hour alone; what the ledger cannot tell is left out."""
    now_ms = time.time_ns() // 1_000_000
    events = [
        usage_event(vendor="sim", vendor_served="sim", model="no-such-price", started_at_ms=at_ms)
        for at_ms in (now_ms, now_ms - 1_000, now_ms - 3 * 3_600_000)
    ]
    Ledger(gateway.engine, load_prices(settings.prices_file)).post(events)
    samples = scraped(gateway.base_url)
    assert value(samples, "tollgate_unpriced_requests") == 2
    assert value(samples, "tollgate_ledger_up") == 1
    with gateway.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE rollups RENAME TO hidden")
    samples = scraped(gateway.base_url)
    assert value(samples, "tollgate_ledger_up") == 0
    assert ("tollgate_unpriced_requests", frozenset[tuple[str, str]]()) not in samples


def test_a_vendor_that_rests_is_shown(gateway: Gateway) -> None:
    """Until when is Redis' business."""
    gateway.redis.zadd("circuit:until", {"sim": 2**40})
    assert value(scraped(gateway.base_url), "tollgate_vendor_circuit_open", vendor="sim") == 1


def test_without_redis_the_rest_is_still_told(settings: Settings, valkey: Valkey) -> None:
    """And that Redis is away, and what waits on the disk meanwhile."""
    with running(dataclasses.replace(settings, redis_timeout_s=0.2)) as gateway:
        valkey.pause()
        try:
            gateway.post({"model": "sim/m", "prompt": "hi"})
            wait_until(lambda: _completed(gateway.base_url) == 1)
            samples = scraped(gateway.base_url)
        finally:
            valkey.resume()
    assert ("tollgate_redis_up", frozenset[tuple[str, str]]()) in samples
    assert value(samples, "tollgate_redis_up") == 0
    assert ("tollgate_backlog_events", frozenset[tuple[str, str]]()) not in samples
    assert value(samples, "tollgate_spool_bytes") > 0


@pytest.fixture
def several(settings: Settings) -> dict[str, str]:
    """The environment of a deployment with three web processes."""
    return {
        "REDIS_URL": settings.redis_url,
        "DATABASE_URL": settings.database_url,
        "TOLLGATE_VENDORS": str(settings.vendors_file),
        "TOLLGATE_SPOOL_DIR": str(settings.spool_dir),
        "WEB_CONCURRENCY": "3",
        **settings.env,
    }


def test_whichever_process_answers_it_tells_of_all(
    several: dict[str, str], settings: Settings, tmp_path: Path, vendor: SimulatedVendor
) -> None:
    """What a killed one had counted stays; what it had open does not."""
    with (
        gunicorn(several, tmp_path / "web.log") as (url, master),
        with_account(url, settings) as gateway,
    ):
        for _ in range(12):
            gateway.post({"model": "sim/m", "prompt": "hi"})
        directory = _metrics_directory(master)
        wait_until(lambda: _completed(url) == 12)  # counted after the last byte
        assert {_completed(url) for _ in range(6)} == {12}
        _leave_one_open(gateway, vendor)
        for pid in _children(master):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not _open_streams(url))
        assert _completed(url) == 12
    assert not directory.exists()


def test_a_fault_in_counting_costs_nobody_an_answer(
    several: dict[str, str], settings: Settings, tmp_path: Path
) -> None:
    """Also where a process starts after the place for its counts has been swept away."""
    with (
        gunicorn(several, tmp_path / "web.log") as (url, master),
        with_account(url, settings) as gateway,
    ):
        shutil.rmtree(_metrics_directory(master))
        before = _children(master)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len({*_children(master)} - {*before}) == 3)
        wait_until(lambda: _is_ready(url))
        assert gateway.post({"model": "sim/m", "prompt": "hi"}).status_code == 200
        assert gateway.event().status == "completed"
    assert "a count is missing" in (tmp_path / "web.log").read_text()


def _is_ready(url: str) -> bool:
    try:
        return requests.get(url.replace("/v5", "/readyz"), timeout=60).ok
    except requests.ConnectionError:
        return False


def _completed(url: str) -> float:
    labels = {"endpoint": "completions", "vendor": "sim", "model": "m", "status": "completed"}
    return value(scraped(url), "tollgate_completions_total", **labels)


def _leave_one_open(gateway: Gateway, vendor: SimulatedVendor) -> None:
    vendor.reply(Reply([threading.Event(), CUT]))
    body = {"model": "sim/m", "prompt": "hi", "stream": True}
    threading.Thread(target=_asked_in_vain, args=[gateway, body]).start()
    wait_until(lambda: _open_streams(gateway.base_url) == 1)


def _asked_in_vain(gateway: Gateway, body: dict[str, object]) -> None:
    with pytest.raises(requests.RequestException):
        gateway.post(body)


def _open_streams(url: str) -> float | None:
    try:
        return value(scraped(url), "tollgate_open_completions", stream="true")
    except requests.RequestException:  # nobody is there in this moment
        return None


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _metrics_directory(master: int) -> Path:
    """Where the workers keep their counts: it is in no environment but theirs."""
    maps = [Path(f"/proc/{worker}/maps").read_text() for worker in _children(master)]
    lines = [line for text in maps for line in text.splitlines() if "tollgate-metrics-" in line]
    (directory,) = {Path(line.split()[-1]).parent for line in lines}
    return directory
