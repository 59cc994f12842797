"""Streams in odd packets, and what breaks them in the middle of a call."""

import json
from typing import Any

import openai
import pytest

from tests.contract.chat.scenarios import COUNTS, ROME, USER, WEATHER
from tests.contract.chat.site import Site
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer, Call, Text, Thought

CALL = Call("callOslo2", "weather", '{"city": "\u00d6sl\u00f8 \U0001f600", "n": [1, {"a": "}"}]}')
SINGLE = ("tgi",)
TEXTS = ("azure", "openai", "tgi")


@pytest.mark.parametrize("row", sorted(CHAT_WIRES))
def test_a_stream_byte_by_byte(site: Site, row: str) -> None:
    calls = (CALL,) if row in SINGLE else (ROME, CALL)
    thoughts = () if row in TEXTS else (Thought("H\u00e4m. \U0001f600"),)
    site.says(row, Answer((*thoughts, *calls), counts=COUNTS))
    scripted = site.vendor.default

    def split(asked: Any) -> Any:
        reply = scripted(asked)
        reply.packet = 1
        return reply

    site.vendor.default = split
    (choice,) = site.ask(row, [USER], stream=True, tools=[WEATHER]).choices
    found = [json.loads(call.function.arguments) for call in choice.message.tool_calls]
    assert found == [call.input for call in calls]
    assert choice.finish_reason == "tool_calls"
    assert site.gateway.event().completion_tokens == COUNTS.completion


@pytest.mark.parametrize("row", sorted(CHAT_WIRES))
@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_a_call_that_breaks_off_never_ends_well(site: Site, row: str, breaks: Any) -> None:
    answer = Answer((Text("I look."), CALL), counts=COUNTS, breaks=breaks)
    site.says(row, answer)
    ask: dict[str, Any] = {"messages": [USER], "tools": [WEATHER], "stream": True}
    wire: Any = CHAT_WIRES[row]
    reasons: list[str] = []
    with (
        site.client.chat.completions.create(model=f"{row}/{wire.model}", **ask) as stream,
        pytest.raises(openai.APIError),
    ):
        reasons.extend(
            choice.finish_reason
            for chunk in stream
            for choice in chunk.choices
            if choice.finish_reason
        )
    assert reasons == []
    event = site.gateway.event()
    assert event.status == "truncated"
    assert event.completion_tokens > 0


@pytest.mark.parametrize("row", sorted(CHAT_WIRES))
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_call_cut_by_the_limit_is_cut(site: Site, row: str, stream: bool) -> None:
    cut = Call("callOslo2", "weather", '{"city": "Os')
    site.says(row, Answer((cut,), finish="length", counts=COUNTS))
    (choice,) = site.ask(row, [USER], stream=stream, tools=[WEATHER], max_tokens=2000).choices
    assert choice.finish_reason == "length"
    (call,) = choice.message.tool_calls
    assert call.function.arguments in (cut.arguments, "{}")  # a value cannot be half of one
    assert site.gateway.event().status == "completed"
