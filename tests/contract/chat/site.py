"""A gateway whose vendors speak chat, and OpenAI's own client as the caller."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

from tests.support.gateway import Gateway
from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer
from tests.support.vendors.chat.scripted import speak


def client_of(gateway: Gateway) -> OpenAI:
    """Return the official client of a gateway."""
    return OpenAI(base_url=gateway.base_url, api_key=gateway.api_key, max_retries=0, timeout=30)


def accumulated(client: OpenAI, *, stream: bool, **ask: Any) -> Any:
    """Return the whole completion; a stream's is put together by the client's own helper."""
    create: Any = client.chat.completions.create
    if not stream:
        return create(**ask)
    state: Any = ChatCompletionStreamState()
    for chunk in create(**ask, stream=True, stream_options={"include_usage": True}):
        state.handle_chunk(chunk)
    return state.current_completion_snapshot


@dataclass
class Site:
    """The gateway, its simulated vendor, and what the caller gets."""

    gateway: Gateway
    vendor: SimulatedVendor

    @cached_property
    def client(self) -> OpenAI:
        """The official client."""
        return client_of(self.gateway)

    def clear(self) -> None:
        """Forget what was asked and recorded."""
        self.gateway.redis.flushall()
        self.vendor.asked.clear()
        self.vendor.hang_ups.clear()

    def says(self, row: str, *answers: Answer) -> None:
        """Have the vendor of an entry give these answers."""
        speak(self.vendor, CHAT_WIRES[row], *answers)

    def ask(self, row: str, messages: Any, *, stream: bool, **more: Any) -> Any:
        """Return the whole completion; `name` is the model's, if it is not the wire's own."""
        wire: Any = CHAT_WIRES[row]
        model = f"{row}/{more.pop('name', wire.model)}"
        return accumulated(self.client, stream=stream, model=model, messages=messages, **more)
