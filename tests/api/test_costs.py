"""What one answer cost: in a header, and in the usage of who asks; the number that is booked."""

import dataclasses
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from flask import Response

from app.api.costs import in_usage, is_asked, set_cost
from app.pricing.price import Price
from app.pricing.price_book import PriceBook, load_prices
from app.settings import Settings
from app.usage.cost import cost_of
from app.vocabulary.errors import InvalidRequest
from app.vocabulary.money import NANO
from tests.support.gateway import Gateway, running, sse_events
from tests.support.vendor import SimulatedVendor, completed, json_reply
from tests.support.vendor_chat import chatted

ASK = {"x-tollgate-include-cost": "true"}
TEXT: dict[str, Any] = {"prompt": "one two three", "max_tokens": 5}
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "one two three"}]}

#: The simulated vendor says that this model served; nothing else has a price.
ROWS = (
    '[[prices]]\nmodel = "sim/*"\ninput = 0.15\noutput = 0.6\n'
    '[[prices]]\nmodel = "spare/*"\ninput = 1\noutput = 2\n'
    '[[prices]]\nmodel = "single/*"\ninput = 3\noutput = 4\n'
)


@pytest.fixture
def priced(settings: Settings, tmp_path: Path) -> Settings:
    """A deployment with prices of its own."""
    path = tmp_path / "own.toml"
    path.write_text(ROWS)
    return dataclasses.replace(settings, prices_file=path)


@pytest.fixture
def gateway(priced: Settings, vendor: SimulatedVendor) -> Iterator[Gateway]:
    vendor.default = lambda asked: (
        chatted(asked.body) if "messages" in asked.body else completed(asked.body)
    )
    with running(priced) as gateway:
        yield gateway


def ask(gateway: Gateway, body: dict[str, Any], **headers: str) -> Any:
    return (gateway.chat if "messages" in body else gateway.post)(body, headers=headers)


def booked(gateway: Gateway, settings: Settings) -> int | None:
    """Return what the only request costs in the ledger, in nano-dollars."""
    return cost_of(gateway.event(), load_prices(settings.prices_file)).nanousd


@pytest.mark.parametrize("asked", [TEXT, CHAT], ids=["completions", "chat"])
@pytest.mark.parametrize("model", ["sim/m", "standby/m"])
def test_a_whole_answer_has_what_is_booked(
    gateway: Gateway, priced: Settings, vendor: SimulatedVendor, asked: dict[str, Any], model: str
) -> None:
    """Also if a fallback served it, at its own price."""
    if model == "standby/m":
        vendor.reply(json_reply({"error": {"message": "busy"}}, 503))
    response = ask(gateway, {**asked, "model": model}, **ASK)
    assert response.status_code == 200, response.text
    nanousd = booked(gateway, priced)
    assert nanousd
    assert Decimal(response.headers["x-tollgate-cost"]) == Decimal(nanousd) / NANO
    assert response.json()["usage"]["cost"] == nanousd / NANO


@pytest.mark.parametrize("asked", [TEXT, CHAT], ids=["completions", "chat"])
def test_a_stream_has_it_in_its_last_chunk(
    gateway: Gateway, priced: Settings, asked: dict[str, Any]
) -> None:
    """Who asks for it gets that chunk without asking for the usage, too."""
    response = ask(gateway, {**asked, "model": "sim/m", "stream": True}, **ASK)
    *chunks, last = (body for name, body in sse_events(response) if name is None)
    assert all(chunk["usage"] is None for chunk in chunks)
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] > 0
    nanousd = booked(gateway, priced)
    assert nanousd
    assert last["usage"]["cost"] == nanousd / NANO
    assert "x-tollgate-cost" not in response.headers


@pytest.mark.parametrize("model", ["sim/m", "single/m"])
def test_a_budget_is_charged_what_the_answer_says_and_the_cost_is_computed_once(
    gateway: Gateway, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    served = PriceBook.served

    def noted(book: PriceBook, vendor: str, *rest: Any) -> Price | None:
        computed.append(vendor)
        return served(book, vendor, *rest)

    monkeypatch.setattr(PriceBook, "served", noted)
    gateway.accounts.set_limits("account", "acme", budget_nanousd=10**9)
    response = ask(gateway, {**TEXT, "model": model, "n": 4})
    assert response.status_code == 200, response.text
    calls = 1 if model == "sim/m" else 2
    assert (len(gateway.events()), len(computed)) == (1, calls)
    (key,) = [key for key in gateway.redis.keys("limits:*") if b"20" in key]
    spent = int(gateway.redis.hget(key, "spent") or 0)
    assert spent == Decimal(response.headers["x-tollgate-cost"]) * NANO > 0


def test_several_calls_cost_what_they_cost_together(gateway: Gateway, priced: Settings) -> None:
    response = ask(gateway, {"model": "single/m", "prompt": ["a b", "c d e"], "n": 2})
    nanousd = booked(gateway, priced)
    assert nanousd
    assert Decimal(response.headers["x-tollgate-cost"]) == Decimal(nanousd) / NANO


@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_cost_is_no_number(gateway: Gateway, stream: bool) -> None:
    response = ask(gateway, {**TEXT, "model": "again/m", "stream": stream}, **ASK)
    assert "x-tollgate-cost" not in response.headers
    body = sse_events(response)[-2][1] if stream else response.json()
    assert body["usage"]["cost"] is None


@pytest.mark.parametrize("stream", [False, True])
def test_the_usage_of_others_is_openais(gateway: Gateway, stream: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if stream else {}
    for headers in ({}, {"x-tollgate-include-cost": "false"}):
        response = ask(gateway, {**TEXT, "model": "sim/m", "stream": stream, **options}, **headers)
        body = sse_events(response)[-2][1] if stream else response.json()
        assert "cost" not in body["usage"]


def test_a_wrong_switch_is_named_and_nothing_is_asked(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    response = ask(gateway, {**TEXT, "model": "sim/m"}, **{"x-tollgate-include-cost": "1"})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "x-tollgate-include-cost"
    assert "`true` or `false`" in response.json()["error"]["message"]
    assert vendor.asked == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("asked", [TEXT, CHAT], ids=["completions", "chat"])
def test_the_model_of_an_answer_can_be_sent_back(
    gateway: Gateway, asked: dict[str, Any], stream: bool
) -> None:
    """It is the vendor's own name of what it served, and the ledger has that name alone."""
    first = ask(gateway, {**asked, "model": "sim/m", "stream": stream})
    bodies = [it for name, it in sse_events(first) if name is None] if stream else [first.json()]
    (model,) = {body["model"] for body in bodies}
    event = gateway.event()
    assert model == f"sim/{event.model_served}"
    assert ask(gateway, {**asked, "model": model}).status_code == 200


def test_a_header_of_money_has_all_its_digits_and_no_exponent() -> None:
    response = Response()
    set_cost(response, 1)
    assert response.headers["x-tollgate-cost"] == "0.000000001"
    set_cost(response, 0)
    assert response.headers["x-tollgate-cost"] == "0"
    assert json.dumps(in_usage(1_500_000_000)) == "1.5"
    assert in_usage(None) is None


@pytest.mark.parametrize(("value", "found"), [("true", True), (" TRUE ", True), ("false", False)])
def test_the_switch_is_on_or_off(value: str, found: bool) -> None:
    assert is_asked({"HTTP_X_TOLLGATE_INCLUDE_COST": value}) is found
    assert not is_asked({})
    with pytest.raises(InvalidRequest):
        is_asked({"HTTP_X_TOLLGATE_INCLUDE_COST": ""})
