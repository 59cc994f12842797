"""Cohere's own client can read the simulator's responses."""

from collections.abc import Iterator
from typing import Any

import cohere
import httpx
import pytest
from cohere.core.api_error import ApiError

from tests.support.vendor import SimulatedVendor
from tests.support.vendors.base import Said
from tests.support.vendors.cohere import CohereWire

WIRE = CohereWire()
SAID = Said(cached_tokens=4, reasoning_tokens=3)
ASK: dict[str, Any] = {
    "model": "command-a-03-2025",
    "messages": [{"role": "user", "content": "hi"}],
}


@pytest.fixture
def client(vendor: SimulatedVendor) -> Iterator[cohere.ClientV2]:
    vendor.default = lambda asked: WIRE.check(asked) or WIRE.answer(asked, SAID)
    base_url = vendor.url.removesuffix("/v1")
    with httpx.Client() as http:  # one of the client's own would be left open
        yield cohere.ClientV2(api_key="sk-test", base_url=base_url, httpx_client=http)


def check_usage(usage: Any) -> None:
    billed, seen = usage.billed_units, usage.tokens
    assert (billed.input_tokens, billed.output_tokens) == (11.0, 7.0)
    assert seen.input_tokens > billed.input_tokens
    assert usage.cached_tokens == 4.0


def test_the_client_reads_a_whole_message(client: cohere.ClientV2) -> None:
    answer = client.chat(**ASK)
    assert answer.finish_reason == "COMPLETE"
    assert answer.message.content is not None
    thought, said = answer.message.content
    assert thought.type == "thinking"
    assert said.type == "text"
    assert said.text == SAID.text
    check_usage(answer.usage)


def test_the_client_reads_a_stream(client: cohere.ClientV2) -> None:
    events: list[Any] = list(client.chat_stream(**ASK))
    kinds = ["message-start", "content-start", "content-delta", "content-end", "message-end"]
    assert list(dict.fromkeys(event.type for event in events)) == kinds
    contents = [e.delta.message.content for e in events if e.type == "content-delta"]
    assert "".join(content.text or "" for content in contents) == SAID.text
    assert "".join(content.thinking or "" for content in contents) == "Let me see."
    assert events[-1].delta.finish_reason == "COMPLETE"
    check_usage(events[-1].delta.usage)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("too_long", cohere.BadRequestError),
        ("bad_key", cohere.UnauthorizedError),
        ("rate_limited", cohere.TooManyRequestsError),
        ("server_error", cohere.InternalServerError),
    ],
)
def test_the_client_knows_each_error(
    client: cohere.ClientV2, vendor: SimulatedVendor, kind: Any, error: type[ApiError]
) -> None:
    vendor.default = lambda asked: WIRE.refuse(asked, kind)
    with pytest.raises(error) as caught:
        client.chat(**ASK, request_options={"max_retries": 0})
    assert set(caught.value.body) == {"id", "message"}


def test_the_simulator_refuses_what_is_out_of_range(client: cohere.ClientV2) -> None:
    with pytest.raises(cohere.BadRequestError):
        client.chat(**ASK, p=1.0)
