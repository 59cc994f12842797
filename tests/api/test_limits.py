"""Limits of accounts and keys, as callers meet them."""

import dataclasses
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest
import requests
import scale_gp_beta
from redis import Redis

from app.ledger.posting import Ledger
from app.pricing.price_book import load_prices
from app.settings import Settings
from app.storage.redis.keys import OPEN, RESERVED
from tests.support.events import usage_event
from tests.support.gateway import Gateway, running, sse_events
from tests.support.services.polling import wait_until
from tests.support.vendor import SimulatedVendor, completed, json_reply

#: 10 words in 40 bytes: 10 tokens by the vendor's count and by our estimate.
PROMPT = "abc " * 10
#: A request that reserves and uses 100 tokens.
HUNDRED: dict[str, Any] = {"model": "sim/m", "prompt": PROMPT, "max_tokens": 90}
#: A token costs a tenth of a cent, so HUNDRED costs ten cents.
PRICES = '[[prices]]\nmodel = "sim/*"\ninput = 1000\noutput = 1000\n'
TOKEN_NANOUSD = 1_000_000
CENT = 10_000_000


@pytest.fixture
def priced(settings: Settings, tmp_path: Path) -> Settings:
    """A deployment with a price, where keys and their limits are looked up each time."""
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    return dataclasses.replace(settings, prices_file=prices, key_cache_s=1e-6)


@pytest.fixture
def gateway(priced: Settings) -> Iterator[Gateway]:
    with running(priced) as gateway:
        yield gateway


def limit(gateway: Gateway, **limits: Any) -> None:
    gateway.accounts.set_limits("account", "acme", **limits)


def error(response: requests.Response) -> dict[str, Any]:
    found: dict[str, Any] = response.json()["error"]
    return found


def budget(gateway: Gateway) -> dict[str, int]:
    """Return what Redis counts of the only budget there is."""
    (key,) = [key for key in gateway.redis.keys("limits:*") if b"20" in key]
    found: Any = gateway.redis.hgetall(key)
    return {name.decode(): int(number) for name, number in found.items()}


def settled(gateway: Gateway) -> None:
    """Wait until every request has ended."""
    wait_until(lambda: not gateway.redis.hlen(OPEN))


@pytest.mark.parametrize("stream", [False, True])
def test_every_answer_says_what_is_left(gateway: Gateway, stream: bool) -> None:
    limit(gateway, requests_per_minute=60, tokens_per_minute=1000)
    gateway.accounts.set_limits("key", gateway.key_id, requests_per_minute=30)
    headers = gateway.post({**HUNDRED, "stream": stream}).headers
    assert headers["x-ratelimit-limit-requests"] == "30"  # the key's, which leaves less
    assert headers["x-ratelimit-remaining-requests"] == "29"
    assert headers["x-ratelimit-reset-requests"] == "2s"
    assert headers["x-ratelimit-limit-tokens"] == "1000"
    assert headers["x-ratelimit-remaining-tokens"] == "900"
    assert headers["x-ratelimit-reset-tokens"] == "6s"


def test_a_vendor_that_fails_does_not_hide_what_is_left(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    limit(gateway, requests_per_minute=60)
    vendor.reply(json_reply({}, 500))
    response = gateway.post(HUNDRED)
    assert response.status_code == 502
    assert response.headers["x-ratelimit-remaining-requests"] == "59"


def test_an_account_without_limits_leaves_nothing_of_them_in_redis(gateway: Gateway) -> None:
    headers = gateway.post(HUNDRED).headers
    settled(gateway)
    assert not gateway.redis.keys("limits:*")
    assert not gateway.redis.exists(RESERVED)
    assert not any(name.lower().startswith("x-ratelimit") for name in headers)


def test_too_many_requests_are_told_whose_limit_it_is_and_when_to_come_back(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    limit(gateway, requests_per_minute=1)
    assert gateway.post(HUNDRED).status_code == 200
    response = gateway.post(HUNDRED)
    assert response.status_code == 429
    assert (error(response)["type"], error(response)["code"]) == (
        "rate_limit_error",
        "rate_limit_exceeded",
    )
    wait_s = int(response.headers["retry-after"])
    assert 1 <= wait_s <= 60
    message = error(response)["message"]
    assert "the account acme has a limit of 1 requests per minute" in message
    assert f"Try again in {wait_s} s." in message
    assert response.headers["x-ratelimit-remaining-requests"] == "0"
    assert len(vendor.asked) == 1
    assert len(gateway.events()) == 1  # what was refused is no event


def test_official_clients_raise_their_rate_limit_error(gateway: Gateway) -> None:
    limit(gateway, requests_per_minute=1)
    gateway.post(HUNDRED)
    with openai.OpenAI(base_url=gateway.base_url, api_key=gateway.api_key, max_retries=0) as client:
        with pytest.raises(openai.RateLimitError, match="limit of 1 requests") as caught:
            client.completions.create(**HUNDRED)
        assert caught.value.code == "rate_limit_exceeded"
        with pytest.raises(openai.RateLimitError):
            client.completions.create(**HUNDRED, stream=True)
    with (
        scale_gp_beta.SGPClient(
            base_url=gateway.base_url.removesuffix("/v5"),
            api_key=gateway.api_key,
            account_id="acme",
            max_retries=0,
        ) as sgp,
        pytest.raises(scale_gp_beta.RateLimitError),
    ):
        sgp.completions.create(**HUNDRED)


def test_a_client_does_not_ask_again_when_the_budget_is_used_up(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    limit(gateway, budget_nanousd=0, requests_per_minute=1000)
    answers: list[int] = []
    with openai.OpenAI(base_url=gateway.base_url, api_key=gateway.api_key, max_retries=5) as client:
        client._client.event_hooks["response"] = [lambda it: answers.append(it.status_code)]
        with pytest.raises(openai.RateLimitError, match="monthly budget of the account acme"):
            client.completions.create(**HUNDRED)
    assert answers == [429]
    assert not vendor.asked


def test_a_request_that_can_never_fit_is_told_so(gateway: Gateway) -> None:
    limit(gateway, tokens_per_minute=99)
    response = gateway.post(HUNDRED)
    assert response.headers["x-should-retry"] == "false"
    assert "may use 100 tokens" in error(response)["message"]
    unbound = {name: value for name, value in HUNDRED.items() if name != "max_tokens"}
    assert gateway.post(unbound).status_code == 200  # that it may use more is our guess


def test_of_fifty_at_once_no_more_are_admitted_than_the_tokens_allow(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    limit(gateway, tokens_per_minute=1000)
    start = gateway.redis.time()
    with ThreadPoolExecutor(50) as pool:
        statuses = list(pool.map(lambda _: gateway.post(HUNDRED).status_code, range(50)))
    seconds = gateway.redis.time()[0] + 1 - start[0]
    # What flows back meanwhile, a sixth of a request a second, is the stated slack.
    assert 10 <= statuses.count(200) <= 10 + seconds // 6 + 1
    assert statuses.count(200) + statuses.count(429) == 50
    assert len(vendor.asked) == statuses.count(200)


def test_a_hundred_parallel_streams_do_not_overrun_a_budget(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    limit(gateway, budget_nanousd=105 * CENT, period="day")  # ten and a half of them
    go = threading.Event()

    def held(asked: Any) -> Any:
        reply = completed(asked.body)
        reply.body.insert(0, go)
        return reply

    vendor.default = held
    statuses: list[int] = []

    def ask(_: int) -> None:
        response = gateway.post({**HUNDRED, "stream": True}, stream=True)
        statuses.append(response.status_code)
        if len(statuses) >= 90:  # all that are refused have been
            go.set()
        if response.status_code == 200:
            assert sse_events(response)

    with ThreadPoolExecutor(100) as pool:
        list(pool.map(ask, range(100)))
    settled(gateway)
    assert statuses.count(200) == len(vendor.asked) == 10
    assert budget(gateway) == {"spent": 100 * CENT, "reserved": 0}


def test_what_is_reserved_for_others_is_worth_asking_again_for(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    limit(gateway, budget_nanousd=15 * CENT)
    go = threading.Event()
    reply = completed(HUNDRED)
    reply.body.insert(0, go)
    vendor.reply(reply)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(gateway.post, HUNDRED)
        wait_until(lambda: vendor.asked)
        second = gateway.post(HUNDRED)
        go.set()
        assert first.result().status_code == 200
    assert error(second)["code"] == "rate_limit_exceeded"
    assert int(second.headers["retry-after"]) >= 1
    settled(gateway)
    third = gateway.post(HUNDRED)
    assert error(third)["code"] == "insufficient_quota"
    assert third.headers["x-should-retry"] == "false"
    assert "may cost $0.10; $0.05 is left" in error(third)["message"]
    assert gateway.post({**HUNDRED, "max_tokens": 40}).status_code == 200


def test_failed_streams_release_all_that_they_reserved(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    limit(gateway, budget_nanousd=10**12, tokens_per_minute=10**9, streams=100)
    vendor.default = lambda _asked: json_reply({"error": {"message": "broken"}}, 500)
    with ThreadPoolExecutor(20) as pool:
        asked = {**HUNDRED, "stream": True}
        statuses = set(pool.map(lambda _: gateway.post(asked).status_code, range(100)))
    assert statuses == {502}
    settled(gateway)
    assert budget(gateway) == {"spent": 0, "reserved": 0}
    assert not gateway.redis.exists("limits:account:acme:streams", RESERVED)
    assert not gateway.redis.exists("limits:account:acme:tpm")


def test_streams_open_at_the_same_time_are_counted_until_their_last_byte(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    limit(gateway, streams=1)
    go = threading.Event()
    reply = completed({**HUNDRED, "stream": True})
    reply.body.insert(3, go)
    vendor.reply(reply)
    first = gateway.post({**HUNDRED, "stream": True}, stream=True)
    second = gateway.post({**HUNDRED, "stream": True})
    assert second.status_code == 429
    assert int(second.headers["retry-after"]) >= 1
    assert "1 streams open at the same time" in error(second)["message"]
    assert gateway.post(HUNDRED).status_code == 200  # no stream
    go.set()
    assert sse_events(first)[-1] == ("done", "[DONE]")
    settled(gateway)
    assert gateway.post({**HUNDRED, "stream": True}).status_code == 200


def test_the_soft_bound_warns_and_is_logged_once(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    limit(gateway, budget_nanousd=100 * CENT, soft_nanousd=15 * CENT)
    with caplog.at_level(logging.WARNING, logger="app.admission.limiter"):
        answers = []
        for _ in range(3):
            answers.append(gateway.post(HUNDRED))
            settled(gateway)
    told = [answer.headers.get("x-tollgate-budget-warning") for answer in answers]
    text = "account acme has spent or reserved {} this month of $1.00; the soft bound is $0.15"
    text += " (months are UTC's)"
    assert told == [None, text.format("$0.20"), text.format("$0.30")]
    assert [record.getMessage() for record in caplog.records] == [f"budget: {told[1]}"]


def test_a_key_is_limited_by_itself_and_by_its_account(gateway: Gateway) -> None:
    other_key, other_secret = gateway.accounts.create_key(["acme"], {"completions"})
    gateway.accounts.set_limits("key", gateway.key_id, requests_per_minute=1)
    assert [gateway.post(HUNDRED).status_code for _ in range(2)] == [200, 429]
    refused = gateway.post(HUNDRED)
    assert f"the key {gateway.key_id} has a limit" in error(refused)["message"]
    as_other = {"headers": {"x-api-key": other_secret}}
    assert gateway.post(HUNDRED, **as_other).status_code == 200
    limit(gateway, requests_per_minute=1)
    gateway.accounts.set_limits("key", other_key.key_id, requests_per_minute=5)
    assert [gateway.post(HUNDRED, **as_other).status_code for _ in range(2)] == [200, 429]
    stranger = gateway.add_account("ACME")
    assert gateway.post(HUNDRED, headers={"x-api-key": stranger}).status_code == 200


def test_a_cap_that_was_hit_can_be_raised_and_lifted(gateway: Gateway) -> None:
    limit(gateway, budget_nanousd=5 * CENT)
    assert error(gateway.post(HUNDRED))["code"] == "insufficient_quota"
    limit(gateway, budget_nanousd=10 * CENT)
    assert gateway.post(HUNDRED).status_code == 200
    settled(gateway)
    assert "is used up" in error(gateway.post(HUNDRED))["message"]
    limit(gateway, budget_nanousd=None)
    assert gateway.post(HUNDRED).status_code == 200


def test_a_redis_that_has_forgotten_learns_from_the_ledger_what_was_spent(
    gateway: Gateway, priced: Settings
) -> None:
    limit(gateway, budget_nanousd=100 * CENT, period="day")
    gateway.accounts.set_limits("key", gateway.key_id, budget_nanousd=95 * CENT)
    now_ms = gateway.redis.time()[0] * 1000
    whose = {"account_id": "acme", "api_key_id": gateway.key_id}
    used = {"prompt_tokens": 850, "completion_tokens": 0, "total_tokens": 850}
    Ledger(gateway.engine, load_prices(priced.prices_file)).post(
        [usage_event(vendor="sim", vendor_served="sim", started_at_ms=now_ms, **whose, **used)]
    )
    gateway.redis.flushall()
    assert gateway.post(HUNDRED).status_code == 200
    settled(gateway)
    refused = gateway.post(HUNDRED)
    assert "is used up" in error(refused)["message"]
    assert f"the key {gateway.key_id}" in error(refused)["message"].replace("The", "the")


def test_what_was_refused_may_be_asked_again_under_its_idempotency_key(gateway: Gateway) -> None:
    limit(gateway, budget_nanousd=0)
    once = {"headers": {"idempotency-key": "k1"}}
    assert gateway.post(HUNDRED, **once).status_code == 429
    limit(gateway, budget_nanousd=None, requests_per_minute=10)
    first, again = gateway.post(HUNDRED, **once), gateway.post(HUNDRED, **once)
    assert first.json() == again.json()
    assert "x-ratelimit-limit-requests" in first.headers
    assert "x-ratelimit-limit-requests" not in again.headers  # it would be of long ago


@pytest.mark.parametrize(("on_redis_down", "status"), [("serve", 200), ("refuse", 503)])
def test_without_redis_nothing_is_limited_or_all_is_refused(
    priced: Settings, on_redis_down: Any, status: int
) -> None:
    away = dataclasses.replace(
        priced, redis_url="redis://127.0.0.1:1/0", on_redis_down=on_redis_down
    )
    with running(away) as gateway, Redis.from_url(priced.redis_url) as gateway.redis:
        limit(gateway, requests_per_minute=1)
        assert [gateway.post(HUNDRED).status_code for _ in range(2)] == [status, status]
