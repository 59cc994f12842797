"""Idempotency keys in a real Valkey: one claim per key, under concurrency and crashes."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from app.admission.numbering import Numbering
from app.storage.redis.connection import connect
from app.storage.redis.keys import OWNER
from app.usage.redis.idempotency_keys import (
    BODY_LIMIT,
    CLAIM_S,
    Claim,
    IdempotencyKeys,
    StoredResponse,
)
from app.usage.redis.idempotency_room import STORED_S
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from app.vocabulary.errors import (
    IdempotencyConflict,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InvalidRequest,
    ResponseNotStored,
    StreamUnavailable,
)
from tests.support.services.valkey import Valkey

BODY = b'{"prompt": "what nobody else may read"}'
JSON = [("content-type", "application/json")]
KEEP: list[Callable[[Claim], None]] = [
    lambda claim: claim.store(200, JSON, b"answer"),
    lambda claim: claim.store_nothing(),
    lambda claim: claim.release(),
]


def process(redis: "Redis", name: str = "one") -> IdempotencyKeys:
    """Return the keys as a living process sees them."""
    records = OpenRecords(redis)
    Processes(redis).heartbeat(Numbering(name))
    return IdempotencyKeys(redis, records, lambda: name)


@pytest.fixture
def keys(redis: "Redis") -> IdempotencyKeys:
    """The keys of the process under test."""
    return process(redis)


def claimed(keys: IdempotencyKeys, account_id: str = "acme", key: str = "k") -> Claim:
    claim = keys.claim(account_id, key, BODY, "req_1")
    assert isinstance(claim, Claim)
    return claim


@pytest.mark.parametrize("body", [b"", b"{}", b"\0\xff" * 1000])
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_retry_gets_the_stored_response(
    keys: IdempotencyKeys, redis: "Redis", body: bytes, is_cut: bool
) -> None:
    claim = claimed(keys)
    claim.store(502, JSON, body, is_cut=is_cut)
    answer = StoredResponse(502, JSON, body, "req_1", is_cut)
    for other in (keys, process(redis, "two")):
        assert other.claim("acme", "k", BODY, "req_2") == answer
    assert STORED_S - 60 < redis.ttl(claim.name) <= STORED_S == 86_400


def test_a_key_is_one_accounts_own(keys: IdempotencyKeys) -> None:
    claimed(keys, "acme", "k").store(200, JSON, b"acme's")
    for account_id, key in (("beta", "k"), ("acm", "ek"), ("acme", "K")):
        claimed(keys, account_id, key)


def test_another_body_is_rejected_in_every_state(keys: IdempotencyKeys) -> None:
    states: list[Callable[[Claim], None]] = [lambda _: None, *KEEP[:2]]
    for number, keep in enumerate(states):
        keep(claimed(keys, key=f"k{number}"))
        with pytest.raises(IdempotencyKeyReused) as caught:
            keys.claim("acme", f"k{number}", BODY + b" ", "req_2")
        assert caught.value.headers == {"x-should-retry": "false"}


def test_a_running_request_is_not_made_again(keys: IdempotencyKeys, redis: "Redis") -> None:
    claim = claimed(keys)
    for other in (keys, process(redis, "two")):
        with pytest.raises(IdempotencyInProgress) as caught:
            other.claim("acme", "k", BODY, "req_2")
        assert caught.value.headers == {"retry-after": "2"}
    assert CLAIM_S - 60 < redis.ttl(claim.name) <= CLAIM_S


def test_what_cost_nothing_may_be_repeated(keys: IdempotencyKeys, redis: "Redis") -> None:
    claimed(keys).release()
    assert redis.keys("idempotency:*") == []
    claimed(keys)


@pytest.mark.parametrize("size", [BODY_LIMIT, BODY_LIMIT + 1])
def test_a_response_over_the_limit_is_not_stored_and_not_made_again(
    keys: IdempotencyKeys, redis: "Redis", size: int
) -> None:
    claim = claimed(keys)
    claim.store(200, JSON, b"x" * size)
    if size <= BODY_LIMIT:
        assert isinstance(keys.claim("acme", "k", BODY, "req_2"), StoredResponse)
        assert redis.strlen(claim.name) < size / 50
        return
    with pytest.raises(ResponseNotStored, match="req_1") as caught:
        keys.claim("acme", "k", BODY, "req_2")
    assert caught.value.headers == {"x-should-retry": "false"}


def test_a_claim_ends_once(keys: IdempotencyKeys) -> None:
    claim = claimed(keys)
    claim.store(200, JSON, b"answer")
    claim.store_nothing()
    claim.release()
    assert isinstance(keys.claim("acme", "k", BODY, "req_2"), StoredResponse)


def test_of_many_at_once_one_has_the_claim(keys: IdempotencyKeys) -> None:
    def attempt(number: int) -> Claim | StoredResponse | None:
        try:
            return keys.claim("acme", "k", BODY, f"req_{number}")
        except IdempotencyInProgress:
            return None

    with ThreadPoolExecutor(16) as pool:
        claims = [claim for claim in pool.map(attempt, range(64)) if claim]
    assert len(claims) == 1


def test_the_claim_of_a_dead_process_goes_to_one_other(redis: "Redis") -> None:
    claimed(process(redis, "dead"))
    redis.delete(OWNER + "dead")
    living = [process(redis, name) for name in ("one", "two", "three", "four")]

    def attempt(keys: IdempotencyKeys) -> Claim | StoredResponse | None:
        try:
            return keys.claim("acme", "k", BODY, "req_2")
        except IdempotencyInProgress:
            return None

    with ThreadPoolExecutor(len(living)) as pool:
        claims = [claim for claim in pool.map(attempt, living * 4) if claim]
    assert len(claims) == 1


@pytest.mark.parametrize("end", KEEP)
def test_a_process_that_was_only_paused_does_not_end_anothers_claim(
    redis: "Redis", caplog: pytest.LogCaptureFixture, end: Callable[[Claim], None]
) -> None:
    paused = claimed(process(redis, "paused"))
    redis.delete(OWNER + "paused")
    other = process(redis, "other")
    claim = claimed(other)
    end(paused)
    assert "its claim was void" in caplog.text
    with pytest.raises(IdempotencyInProgress):
        other.claim("acme", "k", BODY, "req_3")
    claim.store(200, JSON, b"the second")
    kept = other.claim("acme", "k", BODY, "req_3")
    assert isinstance(kept, StoredResponse)
    assert kept.body == b"the second"


def test_neither_the_key_nor_the_request_is_in_redis(keys: IdempotencyKeys, redis: "Redis") -> None:
    claimed(keys, key="caller-secret-key").store(200, JSON, b"answer")
    claimed(keys, key="caller-secret-key-2").store_nothing()
    names: Any = redis.keys("idempotency:*")
    assert len(names) == 2
    answers: Any = redis.mget(names)
    held = b"".join([*names, *answers])
    for secret in (b"caller-secret", b"nobody else", b"acme"):
        assert secret not in held


def test_two_keys_of_one_request_have_digests_of_their_own(
    keys: IdempotencyKeys,
) -> None:
    """With a digest of only the body, guesses of bodies could be tested against it."""
    notes = {claimed(keys, account, "k").note.request for account in ("acme", "beta")}
    assert len(notes) == 2


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "a\tb", "k" * 256])
def test_an_invalid_key_is_rejected(keys: IdempotencyKeys, redis: "Redis", key: str) -> None:
    with pytest.raises(InvalidRequest, match="1 to 255 visible ASCII") as caught:
        keys.claim("acme", key, BODY, "req_1")
    assert caught.value.param == "idempotency-key"
    assert not isinstance(caught.value, IdempotencyConflict)
    assert redis.keys("idempotency:*") == []


@pytest.mark.parametrize("key", ["!", "~" * 255, '"8e03978e-40d5-43dd-bc93-6894a57f9324"'])
def test_a_key_is_any_visible_ascii(keys: IdempotencyKeys, key: str) -> None:
    claimed(keys, key=key)


def test_without_redis_a_key_is_rejected_and_a_claim_ends_without_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Valkey(tmp_path).start()
    with connect(server.url, timeout_s=10.0) as client:
        keys = process(client)
        claims = [claimed(keys, key=str(number)) for number in range(len(KEEP))]
        server.stop()
        for claim, end in zip(claims, KEEP, strict=True):
            end(claim)
        with pytest.raises(StreamUnavailable):
            keys.claim("acme", "k", BODY, "req_2")
    assert caplog.record_tuples == [
        ("app.usage.redis.idempotency_keys", logging.WARNING, message)
        for message in [
            "no response stored for req_1: the usage stream is unavailable (ConnectionError)"
        ]
        * len(KEEP)
    ]
