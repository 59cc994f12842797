"""The demo's client, against a gateway."""

import threading

import pytest
from msgspec.structs import replace

from app.accounts.accounts import Accounts
from app.devstack.demo import DemoClient, DemoFailed
from app.ledger.posting import Ledger
from app.pricing.price_book import NO_PRICES
from tests.support.gateway import Gateway
from tests.support.vendor import CUT, DONE, SimulatedVendor, body_of, choice, stream_reply, usage_of
from tests.support.vendor_chat import chatted


@pytest.fixture
def client(gateway: Gateway) -> DemoClient:
    """A client with a key that may do both."""
    scopes = frozenset({"completions", "usage"})
    _, secret = Accounts(gateway.engine).create_key(["acme"], scopes)
    return DemoClient(gateway.base_url, secret)


def test_text_is_yielded_as_it_arrives(client: DemoClient, vendor: SimulatedVendor) -> None:
    gate = threading.Event()
    rest = (body_of(choice("two", "stop")), body_of(usage=usage_of(1, 2)), DONE)
    vendor.reply(stream_reply(body_of(choice("one ")), gate, *rest))
    texts = client.stream("sim/m", "p")
    assert next(texts) == "one "
    gate.set()
    assert "".join(texts) == "two"


def test_the_text_of_a_chat_is_yielded_too(client: DemoClient, vendor: SimulatedVendor) -> None:
    vendor.default = lambda asked: chatted(asked.body)
    assert "".join(client.chat("sim/m", "p")) == "one two three"


def test_a_stream_that_fails_is_not_taken_for_a_whole_one(
    client: DemoClient, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(body_of(choice("one ")), CUT))
    with pytest.raises(DemoFailed, match="The stream failed"):
        list(client.stream("sim/m", "p"))


def test_an_error_is_shown_with_the_response(client: DemoClient, gateway: Gateway) -> None:
    with pytest.raises(DemoFailed, match=r"The completion failed: .*nobody"):
        list(client.stream("nobody/m", "p"))
    with pytest.raises(DemoFailed, match=r"The usage query failed: .*invalid_api_key"):
        DemoClient(gateway.base_url, "wrong").usage()


def test_the_vendors_are_those_that_the_gateway_can_call(
    client: DemoClient, gateway: Gateway
) -> None:
    assert "sim" in client.vendors()
    assert "keyless" not in client.vendors()
    with pytest.raises(DemoFailed, match=r"The list of models failed: .*invalid_api_key"):
        DemoClient(gateway.base_url, "wrong").vendors()


def test_usage_is_that_of_the_user_alone(client: DemoClient, gateway: Gateway) -> None:
    body = {"model": "sim/m", "prompt": "one two"}
    for user in ("someone", "this-run"):
        assert gateway.post({**body, "user": user}).status_code == 200
    Ledger(gateway.engine, NO_PRICES).post(gateway.events(2))
    _, secret = Accounts(gateway.engine).create_key(["acme"], frozenset({"usage"}))
    assert DemoClient(gateway.base_url, secret, "this-run").usage()["sim/m"][0] == 1
    assert client.usage()["sim/m"][0] == 2


def test_usage_is_summed_by_model(client: DemoClient, gateway: Gateway) -> None:
    assert client.usage() == {}
    assert gateway.post({"model": "sim/m", "prompt": "one two"}).status_code == 200
    event = gateway.event()
    again = replace(event, event_id="another")
    Ledger(gateway.engine, NO_PRICES).post([event, again])
    counts = [2, 2 * event.prompt_tokens, 2 * event.completion_tokens]
    assert client.usage() == {"sim/m": counts}
