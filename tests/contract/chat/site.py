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


@dataclass
class Site:
    """The gateway, its simulated vendor, and what the caller gets."""

    gateway: Gateway
    vendor: SimulatedVendor

    @cached_property
    def client(self) -> OpenAI:
        """The official client."""
        return OpenAI(
            base_url=self.gateway.base_url,
            api_key=self.gateway.api_key,
            max_retries=0,
            timeout=30,
        )

    def clear(self) -> None:
        """Forget what was asked and recorded."""
        self.gateway.redis.flushall()
        self.vendor.asked.clear()
        self.vendor.hang_ups.clear()

    def says(self, row: str, *answers: Answer) -> None:
        """Have the vendor of an entry give these answers."""
        speak(self.vendor, CHAT_WIRES[row], *answers)

    def ask(self, row: str, messages: Any, *, stream: bool, **more: Any) -> Any:
        """Return the whole completion; a stream's is put together by the client's own helper.

        `name` is the model's, if it is not the one that the wire is for.
        """
        wire: Any = CHAT_WIRES[row]
        ask = {"model": f"{row}/{more.pop('name', wire.model)}", "messages": messages, **more}
        create: Any = self.client.chat.completions.create
        if not stream:
            return create(**ask)
        state: Any = ChatCompletionStreamState()
        for chunk in create(**ask, stream=True, stream_options={"include_usage": True}):
            state.handle_chunk(chunk)
        return state.current_completion_snapshot
