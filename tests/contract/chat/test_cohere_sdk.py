"""Cohere's own client holds a conversation with the simulator: a tool loop, its streams."""

from collections.abc import Iterator
from typing import Any

import cohere
import httpx
import pytest

from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.cohere import CohereChat
from tests.support.vendors.chat.script import Answer, Call, Text, Thought
from tests.support.vendors.chat.scripted import speak

MODEL = "command-a-reasoning-08-2025"
TOOLS: Any = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
LOOP = (
    Answer((Thought("First."), Text("I look."), Call("f_1", "f", '{"a": 1}'))),
    Answer((Thought("Next."), Text("Again."), Call("f_2", "f"), Call("f_3", "f", '{"b": "c d"}'))),
    Answer((Thought("Done."), Text("It is warm."))),
)
USER: Any = {"role": "user", "content": "hi"}


@pytest.fixture
def client(vendor: SimulatedVendor) -> Iterator[cohere.ClientV2]:
    base_url = vendor.url.removesuffix("/v1")
    with httpx.Client() as http:  # one of the client's own would be left open
        yield cohere.ClientV2(api_key="sk-test", base_url=base_url, httpx_client=http)


def accumulated(events: Any) -> tuple[dict[str, Any], str, Any]:
    """Return the message, the reason and the usage of a stream, as Cohere's guide does."""
    message: dict[str, Any] = {"role": "assistant", "tool_plan": "", "content": []}
    reason, usage = "", None
    for event in events:
        if event.type == "content-start":
            message["content"].append({"type": event.delta.message.content.type})
        elif event.type == "content-delta":
            block, content = message["content"][-1], event.delta.message.content
            piece = content.text or content.thinking or ""
            block[block["type"]] = block.get(block["type"], "") + piece
        elif event.type == "tool-plan-delta":
            message["tool_plan"] += event.delta.message.tool_plan
        elif event.type == "tool-call-start":
            message.setdefault("tool_calls", []).append(event.delta.message.tool_calls.dict())
        elif event.type == "tool-call-delta":
            piece = event.delta.message.tool_calls.function.arguments
            message["tool_calls"][event.index]["function"]["arguments"] += piece
        elif event.type == "message-end":
            reason, usage = event.delta.finish_reason, event.delta.usage
    return message, reason, usage


def ask(client: cohere.ClientV2, messages: Any, *, streamed: bool) -> tuple[Any, str, Any]:
    if streamed:
        return accumulated(client.chat_stream(model=MODEL, messages=messages, tools=TOOLS))
    answer = client.chat(model=MODEL, messages=messages, tools=TOOLS)
    return answer.message.dict(), answer.finish_reason, answer.usage


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_loop(client: cohere.ClientV2, vendor: SimulatedVendor, streamed: bool) -> None:
    speak(vendor, CohereChat(), *LOOP)
    messages: list[Any] = [USER]
    for expected in ("TOOL_CALL", "TOOL_CALL", "COMPLETE"):
        message, reason, usage = ask(client, messages, streamed=streamed)
        assert reason == expected
        assert usage.tokens.output_tokens == 7.0
        messages.append(message)
        for call in message.get("tool_calls") or []:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "x"})
    sent = vendor.asked[-1].body["messages"]
    assert sent[1]["tool_plan"] == "I look."
    assert sent[1]["content"] == [{"type": "thinking", "thinking": "First."}]
    assert [call["id"] for call in sent[3]["tool_calls"]] == ["f_2", "f_3"]
    assert messages[-1]["content"][-1]["text"] == "It is warm."


@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_what_breaks_a_stream(
    client: cohere.ClientV2, vendor: SimulatedVendor, breaks: Any
) -> None:
    speak(vendor, CohereChat(), Answer(breaks=breaks))
    if breaks == "error":
        events: list[Any] = list(client.chat_stream(model=MODEL, messages=[USER]))
        assert events[-1].delta.error == "the model is overloaded"
        assert events[-1].delta.finish_reason == "ERROR"
    else:
        with pytest.raises(httpx.RemoteProtocolError):
            list(client.chat_stream(model=MODEL, messages=[USER]))


CALLED: Any = {
    "role": "assistant",
    "tool_calls": [{"id": "f_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT: Any = {"role": "tool", "tool_call_id": "f_1", "content": "x"}

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a role": ({"messages": [{"role": "developer", "content": "x"}]}, "role"),
    "an empty turn": ({"messages": [USER, {"role": "assistant"}]}, "content or tool calls"),
    "a message's unknown key": ({"messages": [{**USER, "name": "Bob"}]}, "name"),
    "an unknown key": ({"messages": [USER], "n": 1}, "'n' is not a valid field"),
    "an orphan": ({"messages": [USER, RESULT]}, "not found"),
    "unanswered": ({"messages": [USER, CALLED, USER], "tools": TOOLS}, "missing tool results"),
    "no parameters": (
        {"messages": [USER], "tools": [{"type": "function", "function": {"name": "f"}}]},
        "parameters: Field required",
    ),
    "a choice of none": ({"messages": [USER], "tool_choice": "REQUIRED"}, "without tools"),
    "a choice by name": (
        {"messages": [USER], "tools": TOOLS, "tool_choice": "auto"},
        "REQUIRED or NONE",
    ),
    "a schema beside tools": (
        {"messages": [USER], "tools": TOOLS, "response_format": {"type": "json_object"}},
        "not supported with tools",
    ),
    "OpenAI's schema": (
        {"messages": [USER], "response_format": {"type": "json_schema", "json_schema": {}}},
        "response_format",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_simulator_refuses(vendor: SimulatedVendor, wrong: str) -> None:
    speak(vendor, CohereChat(), Answer())
    body, says = WRONG[wrong]
    # as it stands: the SDK's own types would put some of it right
    answer = httpx.post(
        f"{vendor.url.removesuffix('/v1')}/v2/chat",
        json={"model": MODEL, **body},
        headers={"authorization": "Bearer sk-test"},
    )
    assert answer.status_code in (400, 422)
    assert says in answer.json()["message"]
