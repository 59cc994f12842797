"""Loops of tools with the simulated vendor, which checks all that Google checks."""

import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.vocabulary.completion import Choice, Usage
from tests.gateways.chat_rows import ChatRow, joined, message_of, reply_of
from tests.gateways.gemini.chat import GEMINI, NEW, OLD, VERTEX, result, tool, user
from tests.gateways.reading import chunks_of, cut
from tests.support.vendor import Asked
from tests.support.vendors.chat.gemini import GeminiChat, VertexChat
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought

HEADERS = {"x-goog-api-key": "sk-test", "authorization": "Bearer sk-test"}

WIRES = {"gemini": (GEMINI, GeminiChat()), "vertex_ai": (VERTEX, VertexChat())}

TOOLS = [
    tool(
        "weather",
        parameters={
            "$defs": {"City": {"type": "string", "default": "Rome"}},
            "type": "object",
            "properties": {"city": {"$ref": "#/$defs/City"}, "title": {"type": ["string", "null"]}},
            "additionalProperties": False,
        },
    ),
    tool("today"),
]


def asked(
    row: ChatRow, wire: GeminiChat, said: Answer, model: str, messages: Any, **fields: Any
) -> tuple[Choice, Usage | None]:
    """Return the choice that becomes of an answer, after the vendor has checked the request."""
    request = row.asks(model, messages, **fields)
    encoded = row.gateway.encode(row.vendor, request)
    url = urlsplit(encoded.url)
    path = f"{url.path}?{url.query}" if url.query else url.path
    seen = Asked(path, HEADERS, json.loads(encoded.body), 1)
    refusal = wire.check(seen)
    assert refusal is None, refusal.body
    body = b"".join(step for step in wire.says(seen, said).body if isinstance(step, bytes))
    chunks = chunks_of(row.gateway, row.vendor, request, cut(body, 64))
    return joined(chunks)


LOOP = (
    Answer(
        (Thought("First."), Call("fc-1", "weather", '{"city": "Rome"}'), Call("fc-2", "today")),
        counts=Counts(30, 12, reasoning=5),
    ),
    Answer((Call("fc-3", "weather", '{"city": "Oslo"}'),)),
    Answer((Thought("Done."), Text("It is warm."))),
)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [OLD, NEW])
@pytest.mark.parametrize("name", WIRES)
def test_a_loop_with_reasoning_is_what_google_takes(name: str, model: str, stream: bool) -> None:
    row, wire = WIRES[name]
    fields = {"tools": TOOLS, "reasoning_effort": "low", "stream": stream}
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, user("Weather?")]
    told = []
    for said in LOOP:
        choice, usage = asked(row, wire, said, model, messages, **fields)
        told.append((choice.finish_reason, choice.text, reply_of(choice).reasoning))
        messages.append(message_of(choice))
        messages += [result(call.id or "") for call in reversed(reply_of(choice).tool_calls)]
        if said is LOOP[0]:
            assert usage == Usage(
                prompt_tokens=30, completion_tokens=12, total_tokens=42, reasoning_tokens=5
            )
    assert told == [
        ("tool_calls", "", "First."),
        ("tool_calls", "", ""),
        ("stop", "It is warm.", "Done."),
    ]
    messages.append(user("Thanks"))
    assert asked(row, wire, Answer(), model, messages, **fields)[0].finish_reason == "stop"


@pytest.mark.parametrize("name", WIRES)
def test_a_history_whose_signatures_are_lost_is_what_google_takes(name: str) -> None:
    row, wire = WIRES[name]
    messages: list[Any] = [user("Weather?")]
    for said in LOOP[:2]:
        choice, _ = asked(row, wire, said, NEW, messages, tools=TOOLS)
        bare = message_of(choice)
        for call in bare["tool_calls"]:
            call.pop("extra_content", None)
        messages += [bare, *(result(call["id"]) for call in bare["tool_calls"])]
    choice, _ = asked(row, wire, LOOP[2], NEW, messages, tools=TOOLS)
    assert choice.text == "It is warm."


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("stream", [False, True])
def test_every_kind_of_token_is_counted(name: str, stream: bool) -> None:
    row, wire = WIRES[name]
    counts = Counts(
        240, 1320, cached=25, reasoning=200, tool_prompt=200, image_prompt=10, image_completion=1120
    )
    _, usage = asked(row, wire, Answer(counts=counts), NEW, [user("hi")], stream=stream)
    assert usage == Usage(
        prompt_tokens=240,
        completion_tokens=1320,
        total_tokens=1560,
        cached_tokens=25,
        reasoning_tokens=200,
        image_prompt_tokens=10,
        image_completion_tokens=1120,
    )
