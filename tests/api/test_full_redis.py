"""A whole web process on a Valkey that is full: limits, idempotency keys, alarms and metrics."""

import dataclasses
from typing import Any

import pytest
from redis import Redis

from app.settings import Settings
from app.storage.redis.keys import EVENTS
from tests.support.gateway import Gateway, running
from tests.support.services.full import fill, make_room
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import DONE, SimulatedVendor, body_of, choice, stream_reply, usage_of

PROMPT: dict[str, Any] = {"model": "sim/m", "prompt": "one two"}
KEYED = {"idempotency-key": "k1"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Keys and their limits are looked up each time."""
    return dataclasses.replace(settings, key_cache_s=0)


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


def limit(gateway: Gateway, requests_per_minute: int | None) -> None:
    gateway.accounts.set_limits("account", "acme", requests_per_minute=requests_per_minute)


def unlimited(gateway: Gateway) -> dict[str, float]:
    lines = gateway.get("/../metrics").text.splitlines()
    found = [it for it in lines if it.startswith("tollgate_unlimited_requests_total{")]
    return {line.split('"')[1]: float(line.rsplit(" ", 1)[1]) for line in found}


def test_limits_and_keys_hold_and_usage_is_not_lost(
    gateway: Gateway, vendor: SimulatedVendor, redis: "Redis"
) -> None:
    limit(gateway, 3)
    taken = fill(redis)
    statuses = [gateway.post(PROMPT, headers=KEYED).status_code for _ in range(2)]
    statuses += [gateway.post(PROMPT).status_code for _ in range(4)]
    # The key's response was not stored: its retry is rejected, and calls no vendor.
    assert statuses == [200, 409, 200, 200, 429, 429]
    assert len(vendor.asked) == 3
    ready = gateway.get("/../readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert ready.json()["alarms"]["redis"].startswith("Redis is full (OOM)")
    assert "unlimited" not in ready.json()["alarms"]
    assert set(unlimited(gateway).values()) == {0}
    make_room(redis)
    wait_until(lambda: redis.xlen(EVENTS) == taken + 3)
    assert "redis" not in gateway.get("/../readyz").json()["alarms"]


def test_an_outage_without_limits_is_an_alarm_and_a_metric(
    gateway: Gateway, own_valkey: Valkey
) -> None:
    limit(gateway, 2)
    own_valkey.kill()
    assert [gateway.post(PROMPT).status_code for _ in range(4)] == [200] * 4
    alarms = gateway.get("/../readyz").json()["alarms"]
    assert alarms["unlimited"].startswith("4 requests were served without a check of their limits")
    assert unlimited(gateway)["redis_down"] == 4
    own_valkey.start()
    wait_until(lambda: "redis" not in gateway.get("/../readyz").json()["alarms"])
    assert "unlimited" in gateway.get("/../readyz").json()["alarms"]


def test_without_a_spool_to_rely_on_a_full_redis_rejects_requests_and_takes_what_is_in_flight(
    settings: Settings, vendor: SimulatedVendor, redis: "Redis"
) -> None:
    taken = 0

    def fill_redis() -> None:
        nonlocal taken
        taken = fill(redis)

    with running(dataclasses.replace(settings, on_redis_down="refuse")) as gateway:
        usage = body_of(choice("Hi", "stop"), usage=usage_of(2, 1))
        vendor.reply(stream_reply(fill_redis, usage, DONE))
        assert gateway.post({**PROMPT, "stream": True}).status_code == 200
        wait_until(lambda: redis.xlen(EVENTS) == taken + 1)
        assert not list(settings.spool_dir.glob("*.jsonl"))
        for requests_per_minute in (None, 100):
            limit(gateway, requests_per_minute)
            assert {gateway.post(PROMPT).status_code for _ in range(3)} == {503}
        assert len(vendor.asked) == 1
        make_room(redis)
        wait_until(lambda: gateway.post(PROMPT).status_code == 200)
