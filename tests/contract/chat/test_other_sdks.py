"""Mistral's, Groq's and Azure's own clients hold a conversation with their simulators."""

import json
from collections.abc import Iterator
from typing import Any

import groq
import httpx
import pytest
from mistralai.client import Mistral
from mistralai.client.errors import MistralError
from openai import AzureOpenAI

from tests.contract.chat.scenarios import OSLO, ROME, WEATHER
from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.azure import AZURE
from tests.support.vendors.chat.mistral import MISTRAL
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer, Call, Text, Thought, signature
from tests.support.vendors.chat.scripted import speak

USER: Any = {"role": "user", "content": "hi"}
TOOLS: Any = [WEATHER]
LOOP = (
    Answer((Thought("First. Where?"), Text("I look."), ROME)),
    Answer((OSLO, Call("callBern3", "weather", '{"city": "Bern"}'))),
    Answer((Thought("Done."), Text("It is warm."))),
)


@pytest.fixture
def mistral(vendor: SimulatedVendor) -> Iterator[Mistral]:
    http: Any = httpx.Client()  # one of the client's own would be left open
    with http:
        yield Mistral(api_key="sk-test", server_url=vendor.url.removesuffix("/v1"), client=http)


def results_of(calls: Any) -> list[Any]:
    return [{"role": "tool", "tool_call_id": call.id, "content": "warm"} for call in calls or []]


def test_mistrals_client_brings_signatures_back(mistral: Mistral, vendor: SimulatedVendor) -> None:
    speak(vendor, MISTRAL, *LOOP)
    messages: list[Any] = [USER]
    for _ in range(3):
        answer = mistral.chat.complete(model=MISTRAL.model, messages=messages, tools=TOOLS)
        message: Any = answer.choices[0].message
        messages += [message, *results_of(message.tool_calls)]
    sent = vendor.asked[-1].body["messages"]
    assert sent[1]["content"][0]["signature"] == signature("First. Where?", by="mistral")
    assert [call["id"] for call in sent[3]["tool_calls"]] == [OSLO.id, "callBern3"]
    assert messages[-1].content[-1].text == "It is warm."


def test_mistrals_client_reads_a_stream(mistral: Mistral, vendor: SimulatedVendor) -> None:
    speak(vendor, MISTRAL, *LOOP)
    with mistral.chat.stream(model=MISTRAL.model, messages=[USER], tools=TOOLS) as events:
        chunks: list[Any] = [event.data for event in events]
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(d.content for d in deltas if isinstance(d.content, str)) == "I look."
    thoughts = [part for d in deltas if isinstance(d.content, list) for part in d.content]
    assert "".join(text.text for part in thoughts for text in part.thinking) == "First. Where?"
    assert thoughts[-1].signature == signature("First. Where?", by="mistral")
    (call,) = [call for d in deltas for call in d.tool_calls or []]
    assert json.loads(call.function.arguments) == ROME.input
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].usage.total_tokens == 18


def test_mistrals_simulator_refuses_a_strange_id(mistral: Mistral, vendor: SimulatedVendor) -> None:
    speak(vendor, MISTRAL, *LOOP)
    call: Any = {"id": "call_1", "function": {"name": "weather", "arguments": "{}"}}
    messages: Any = [
        USER,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "warm"},
    ]
    with pytest.raises(MistralError, match="length of 9"):
        mistral.chat.complete(model=MISTRAL.model, messages=messages, tools=TOOLS)


@pytest.mark.parametrize("stream", [False, True])
def test_groqs_client_reads_reasoning_and_calls(vendor: SimulatedVendor, stream: bool) -> None:
    wire: Any = CHAT_WIRES["groq"]
    speak(vendor, wire, *LOOP)
    base_url = vendor.url.removesuffix("/v1")
    with groq.Groq(api_key="sk-test", base_url=base_url, max_retries=0) as client:
        ask: Any = {"model": wire.model, "messages": [USER], "tools": TOOLS, "stream": stream}
        answer: Any = client.chat.completions.create(**ask)
        parts = [c.choices[0].delta for c in answer] if stream else [answer.choices[0].message]
    assert "".join(part.content or "" for part in parts) == "I look."
    assert "".join(part.reasoning or "" for part in parts) == "First. Where?"
    calls = [call for part in parts for call in part.tool_calls or []]
    assert json.loads("".join(call.function.arguments for call in calls)) == ROME.input


def test_azures_client_reads_filters_verdicts(vendor: SimulatedVendor) -> None:
    speak(vendor, AZURE, *LOOP[1:])
    with AzureOpenAI(
        azure_endpoint=vendor.url.removesuffix("/v1"), api_version="2024-10-21", api_key="sk-test"
    ) as client:
        chunks = list(
            client.chat.completions.create(
                model="gpt-4o", messages=[USER], tools=TOOLS, stream=True
            )
        )
    assert chunks[0].choices == []
    deltas = [c.delta for chunk in chunks for c in chunk.choices if c.delta]
    calls = [call for delta in deltas for call in delta.tool_calls or []]
    assert [call.id for call in calls if call.id] == [OSLO.id, "callBern3"]
