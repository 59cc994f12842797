"""Anthropic's own client can read the simulator's responses."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock

from tests.support.vendor import SimulatedVendor, stream_reply
from tests.support.vendors.anthropic import AnthropicWire, error_body, error_reply, named_event
from tests.support.vendors.base import Said

WIRE = AnthropicWire()
SAID = Said(cached_tokens=4, reasoning_tokens=3)
ASK: dict[str, Any] = {
    "model": "claude-haiku-4-5",
    "max_tokens": 20,
    "messages": [{"role": "user", "content": "hi"}],
}


@pytest.fixture
def client(vendor: SimulatedVendor) -> Iterator[anthropic.Anthropic]:
    vendor.default = lambda asked: WIRE.check(asked) or WIRE.answer(asked, SAID)
    base_url = vendor.url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=base_url, api_key="sk-test", max_retries=0) as client:
        yield client


def check(message: Message) -> None:
    thought, said = message.content
    assert isinstance(thought, ThinkingBlock)
    assert isinstance(said, TextBlock)
    assert (said.text, message.stop_reason) == (SAID.text, "end_turn")
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (7, 4, 7)
    assert usage.output_tokens_details is not None
    assert usage.output_tokens_details.thinking_tokens == 3


def test_the_client_reads_a_whole_message(client: anthropic.Anthropic) -> None:
    check(client.messages.create(**ASK))


def test_the_client_reads_a_stream(client: anthropic.Anthropic) -> None:
    with client.messages.stream(**ASK) as stream:
        assert "".join(stream.text_stream) == SAID.text
        check(stream.get_final_message())


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("too_long", anthropic.BadRequestError),
        ("bad_key", anthropic.AuthenticationError),
        ("rate_limited", anthropic.RateLimitError),
        ("server_error", anthropic.InternalServerError),
    ],
)
def test_the_client_knows_each_error(
    client: anthropic.Anthropic, vendor: SimulatedVendor, kind: Any, error: Any
) -> None:
    vendor.default = lambda asked: WIRE.refuse(asked, kind)
    with pytest.raises(error) as caught:
        client.messages.create(**ASK)
    assert caught.value.request_id


def test_the_client_knows_a_spending_limit(
    client: anthropic.Anthropic, vendor: SimulatedVendor
) -> None:
    details = {"error_code": "enforced_spend_limit_reached"}
    vendor.reply(error_reply(429, "rate_limit_error", "x", details=details))
    with pytest.raises(anthropic.RateLimitError) as caught:
        client.messages.create(**ASK)
    assert caught.value.error_code == "enforced_spend_limit_reached"


def test_the_client_raises_an_error_in_a_stream(
    client: anthropic.Anthropic, vendor: SimulatedVendor
) -> None:
    body = error_body("overloaded_error", "Overloaded")
    vendor.reply(stream_reply(WIRE.keep_alive, named_event(body)))
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        list(client.messages.create(**ASK, stream=True))


def test_the_simulator_refuses_a_temperature_under_the_clients_newer_version(
    client: anthropic.Anthropic,
) -> None:
    with pytest.raises(anthropic.BadRequestError, match="deprecated"):
        client.messages.create(**ASK, extra_body={"temperature": 0.5})
