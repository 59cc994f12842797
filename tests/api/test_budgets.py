"""Budgets, as callers meet them: who may serve counts, and what is corrected counts at once."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from app.ledger.posting import Ledger
from app.pricing.price_book import load_prices
from app.settings import Settings
from app.storage.redis.keys import OPEN
from app.usage.redis.stream import EventStream
from tests.cli.command import Tollgate
from tests.support.gateway import Gateway, running
from tests.support.services.polling import wait_until
from tests.support.vendor import Asked, Reply, SimulatedVendor, completed, json_reply
from workers.consumer import consume

#: Reserves and uses 10 tokens of prompt and 90 of completion.
HUNDRED: dict[str, Any] = {"prompt": "abc " * 10, "max_tokens": 90}
#: What that costs at ten dollars a million tokens in, and fifty out.
COST_NANOUSD = 10 * 10_000 + 90 * 50_000

DEAR = "input = 10\noutput = 50\n"
PRICES = (
    f'[[prices]]\nmodel = "spare/other"\n{DEAR}'
    f'[[prices]]\nmodel = "sim/m-2026-01-01"\n{DEAR}'
    '[[prices]]\nmodel = "standby/free"\ninput = 0\noutput = 0\n'
)


@pytest.fixture
def priced(settings: Settings, tmp_path: Path) -> Settings:
    """A deployment where what is asked for has no price or none to speak of."""
    prices = tmp_path / "prices.toml"
    prices.write_text(PRICES)
    return dataclasses.replace(settings, prices_file=prices, key_cache_s=1e-6)


@pytest.fixture
def gateway(priced: Settings) -> Iterator[Gateway]:
    with running(priced) as gateway:
        yield gateway


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("sim/alias", id="an alias without a price in front of a priced model"),
        pytest.param("standby/free", id="a free model with a paid fallback"),
    ],
)
def test_of_fifty_at_once_no_more_are_admitted_than_whoever_serves_them_may_cost(
    gateway: Gateway, vendor: SimulatedVendor, model: str
) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.body["model"] == "free":
            return json_reply({"error": {"message": "no"}}, 503)
        reply = completed(asked.body)
        reply.body.insert(0, 0.2)  # so that many are under way at the same time
        return reply

    vendor.default = answer
    limit = COST_NANOUSD * 10 + COST_NANOUSD // 2
    gateway.accounts.set_limits("account", "acme", budget_nanousd=limit)
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: gateway.post({**HUNDRED, "model": model}), range(50)))
    assert [it.status_code for it in answers].count(200) == 10
    wait_until(lambda: not gateway.redis.hlen(OPEN))
    (key,) = [key for key in gateway.redis.keys("limits:*") if b"20" in key]
    found: Any = gateway.redis.hmget(key, "spent", "reserved")
    assert [int(number) for number in found] == [10 * COST_NANOUSD, 0]


def test_after_a_limit_is_lowered_the_wait_that_is_told_is_the_one_that_passes(
    gateway: Gateway,
) -> None:
    ask = {**HUNDRED, "model": "sim/m"}
    gateway.accounts.set_limits("account", "acme", requests_per_minute=60)
    for _ in range(20):
        assert gateway.post(ask).status_code == 200
    gateway.accounts.set_limits("account", "acme", requests_per_minute=2)
    wait_until(lambda: gateway.post(ask).status_code == 429)
    refused = gateway.post(ask)
    assert 25 <= int(refused.headers["retry-after"]) <= 30
    assert refused.headers["x-ratelimit-limit-requests"] == "2"
    reset = refused.headers["x-ratelimit-reset-requests"]
    assert reset == "1m0s" or float(reset.removesuffix("s")) > 50
    left_ms: Any = gateway.redis.pttl("limits:account:acme:rpm")
    assert left_ms > 50_000  # kept for as long as is told
    gateway.accounts.set_limits("account", "acme", requests_per_minute=600)
    wait_until(lambda: gateway.post(ask).status_code == 200)


def test_spend_that_is_corrected_down_is_free_again_at_once(
    gateway: Gateway, priced: Settings
) -> None:
    ask = {**HUNDRED, "model": "sim/m"}
    gateway.accounts.set_limits("account", "acme", budget_nanousd=COST_NANOUSD)
    assert gateway.post(ask).status_code == 200
    gateway.event()
    with Redis.from_url(priced.redis_url) as redis:
        consume(
            EventStream(redis),
            Ledger(gateway.engine, load_prices(priced.prices_file)),
            consumer="w",
        )
    assert "is used up" in gateway.post(ask).json()["error"]["message"]
    assert priced.prices_file is not None
    priced.prices_file.write_text(PRICES.replace("= 10", "= 1").replace("= 50", "= 5"))
    env = {"TOLLGATE_PRICES": str(priced.prices_file)}
    result = Tollgate(priced.database_url, gateway.engine, env).run(
        "prices", "update", "--since", "1d"
    )
    assert "1 of 1 entries changed" in result.stdout
    answer = gateway.post({**ask, "max_tokens": 50})
    assert answer.status_code == 200
    assert "x-should-retry" not in answer.headers
