"""The room of an account for idempotency keys in a real Valkey, which may be full."""

import os
from typing import Any

import pytest
from redis import Redis

from app.storage.redis import memory as memory_module
from app.storage.redis.connection import connect
from app.storage.redis.scripts import Script, read_lua
from app.usage.redis import idempotency_room
from app.usage.redis.idempotency_keys import CLAIM_S, IdempotencyKeys, StoredResponse
from app.usage.redis.idempotency_room import STORED_S, Place
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import RateLimited, ResponseNotStored
from tests.support.events import usage_event
from tests.support.services.full import fill, memory
from tests.support.services.valkey import Valkey
from tests.usage.redis.test_idempotency_keys import BODY, JSON, claimed, process


@pytest.fixture
def keys(redis: "Redis") -> IdempotencyKeys:
    """The keys of the process under test."""
    return process(redis)


def names_of(redis: "Redis", what: str) -> list[str]:
    """The names of the rooms of all accounts."""
    found: Any = redis.keys(f"idempotency-room:*:{what}")
    return [name.decode() for name in found]


def claimed_name(account_id: str, key: str) -> str:
    return Place.of(account_id, f"{account_id}\0{key}".encode()).name


def bounded(name: str, **limits: int) -> Script:
    """A script of the room with smaller limits."""
    source = read_lua(
        idempotency_room.__package__ or "",
        "idempotency_room",
        name,
        **{**idempotency_room._LIMITS, **limits},
    )
    return Script(source)


def test_an_account_that_has_used_too_many_keys_is_told_when_it_may_use_another(
    keys: IdempotencyKeys, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its known keys, and other accounts, are not affected."""
    monkeypatch.setattr(idempotency_room, "CLAIM", bounded("idempotency_claim", KEYS_LIMIT=3))
    first = claimed(keys, key="k0")
    first.store(200, JSON, b"answer")
    claimed(keys, key="k1").store_nothing()
    running = claimed(keys, key="k2")
    with pytest.raises(RateLimited, match="without a key, or try again in") as caught:
        claimed(keys, key="k3")
    assert 0 < int(caught.value.headers["retry-after"]) <= CLAIM_S  # the running one's, the soonest
    assert isinstance(keys.claim("acme", "k0", BODY, "req_2"), StoredResponse)
    claimed(keys, account_id="beta")
    running.release()
    claimed(keys, key="k3")
    room = next(name for name in names_of(redis, "keys") if redis.zcard(name) == 3)
    redis.zadd(room, {Place.of("acme", b"acme\0k1").member: 1})  # as if a day had passed
    redis.delete(Place.of("acme", b"acme\0k1").name)
    claimed(keys, key="k4")


def test_the_oldest_responses_of_an_account_give_way_to_new_ones(
    keys: IdempotencyKeys, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their keys are still charged once, and other accounts keep what they have."""
    limit = 100_000
    monkeypatch.setattr(
        idempotency_room, "REPLACE", bounded("idempotency_replace", BYTES_LIMIT=limit)
    )
    claimed(keys, "beta").store(200, JSON, b"beta's")
    bodies = [os.urandom(30_000) for _ in range(6)]
    for number, body in enumerate(bodies):
        claimed(keys, key=f"k{number}").store(200, JSON, body)
        redis.pexpire(claimed_name("acme", f"k{number}"), 10**7)
    for number, body in enumerate(bodies):
        if number < 3:
            with pytest.raises(ResponseNotStored):
                keys.claim("acme", f"k{number}", BODY, "req_2")
            assert 0 < redis.pttl(claimed_name("acme", f"k{number}")) <= 10**7
            assert redis.strlen(claimed_name("acme", f"k{number}")) < 1_000
        else:
            kept = keys.claim("acme", f"k{number}", BODY, "req_2")
            assert isinstance(kept, StoredResponse)
            assert kept.body == body
    assert isinstance(keys.claim("beta", "k", BODY, "req_2"), StoredResponse)
    assert sorted(
        int(redis.get(name) or 0) < limit for name in redis.keys("idempotency-room:*:bytes")
    ) == [True, True]


def test_expired_responses_take_no_room(
    keys: IdempotencyKeys, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        idempotency_room, "REPLACE", bounded("idempotency_replace", BYTES_LIMIT=50_000)
    )
    for number in range(4):
        claimed(keys, key=f"k{number}").store(200, JSON, os.urandom(10_000))
    answers = names_of(redis, "answers")[0]
    oldest: Any = redis.zrange(answers, 0, 1)
    for member in oldest:
        redis.zadd(answers, {member: 1})  # as if a day had passed
    claimed(keys, key="new").store(200, JSON, os.urandom(20_000))
    assert redis.zcard(answers) == 3
    for number in (2, 3):
        assert isinstance(keys.claim("acme", f"k{number}", BODY, "req_2"), StoredResponse)


def test_the_room_itself_is_forgotten(keys: IdempotencyKeys, redis: "Redis") -> None:
    claimed(keys).store(200, JSON, b"answer")
    names = redis.keys("idempotency-room:*")
    assert len(names) == 3
    assert all(STORED_S - 60 < redis.ttl(name) <= STORED_S for name in names)


def test_while_redis_is_full_keys_work_and_responses_are_not_stored(
    own_valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No second vendor call is made for a retry, and no claim stays behind."""
    monkeypatch.setattr(memory_module, "CACHE_S", 0.0)
    with connect(own_valkey.url, timeout_s=10.0) as redis:
        keys = process(redis)
        claimed(keys, key="before").store(200, JSON, b"before")
        running = claimed(keys, key="running")
        fill(redis)
        assert isinstance(keys.claim("acme", "before", BODY, "req_2"), StoredResponse)
        running.store(200, JSON, b"answer")
        claimed(keys, key="during").store(200, JSON, b"answer")
        for key in ("running", "during"):
            with pytest.raises(ResponseNotStored):
                keys.claim("acme", key, BODY, "req_2")
        claimed(keys, key="failed").release()
        claimed(keys, key="failed")


def test_responses_leave_a_quarter_of_redis_to_events(own_valkey: Valkey) -> None:
    with connect(own_valkey.url, timeout_s=10.0) as redis:
        keys = process(redis)
        redis.config_set("maxmemory", 20_000_000)
        stored = 0
        for number in range(30):
            claimed(keys, key=str(number)).store(200, JSON, os.urandom(1_000_000))
            known = redis.strlen(claimed_name("acme", str(number)))
            stored += known > 1_000_000
        assert 10 < stored < 19  # servers differ in what a value takes
        assert memory(redis) < 20_000_000
        EventStream(redis).publish(usage_event())
