"""OpenAI's own client holds a conversation with its simulator: its helpers, its accumulator."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.openai_like import OpenAIChat
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought
from tests.support.vendors.chat.scripted import speak

WIRE = OpenAIChat(refuses_in="refusal")
MODEL = "gpt-4o"
USER: Any = {"role": "user", "content": "hi"}
COUNTS = Counts(prompt=30, completion=9, cached=4, reasoning=3)


class Weather(BaseModel):
    """Tell the weather of a city."""

    city: str


TOOLS: Any = [pydantic_function_tool(Weather, name="weather")]
LOOP = (
    Answer((Text("I look."), Call("call_1", "weather", '{"city": "Rome"}')), counts=COUNTS),
    Answer(
        (
            Call("call_2", "weather", '{"city": "Oslo"}'),
            Call("call_3", "weather", '{"city": "Bern"}'),
        )
    ),
    Answer((Text("It is warm."),)),
)


@pytest.fixture
def client(vendor: SimulatedVendor) -> Iterator[OpenAI]:
    with OpenAI(base_url=vendor.url, api_key="sk-test", max_retries=0) as client:
        yield client


def asked_for(client: OpenAI, messages: list[Any], *, streamed: bool) -> Any:
    if not streamed:
        return client.chat.completions.parse(model=MODEL, messages=messages, tools=TOOLS)
    with client.chat.completions.stream(
        model=MODEL, messages=messages, tools=TOOLS, stream_options={"include_usage": True}
    ) as stream:
        return stream.get_final_completion()


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_loop(client: OpenAI, vendor: SimulatedVendor, streamed: bool) -> None:
    speak(vendor, WIRE, *LOOP)
    messages: list[Any] = [USER]
    for expected in ("tool_calls", "tool_calls", "stop"):
        completion = asked_for(client, messages, streamed=streamed)
        message = completion.choices[0].message
        assert completion.choices[0].finish_reason == expected
        messages.append(json.loads(message.to_json(exclude_unset=True)))
        for call in messages[-1].get("tool_calls") or []:
            call["function"].pop("parsed_arguments", None)
            call.pop("index", None)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "x"})
        messages[-1].pop("parsed", None)
        for sent in messages:
            sent.pop("parsed", None)
    assert messages[-1]["content"] == "It is warm."
    assert [m["role"] for m in vendor.asked[-1].body["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
    ]


def test_its_stream_accumulates_calls_and_usage(client: OpenAI, vendor: SimulatedVendor) -> None:
    speak(vendor, WIRE, *LOOP)
    completion = asked_for(client, [USER], streamed=True)
    (call,) = completion.choices[0].message.tool_calls
    assert call.function.parsed_arguments == Weather(city="Rome")
    assert completion.usage.total_tokens == 39
    assert completion.usage.completion_tokens_details.reasoning_tokens == 3


@pytest.mark.parametrize("streamed", [False, True])
def test_it_reads_a_refusal(client: OpenAI, vendor: SimulatedVendor, streamed: bool) -> None:
    speak(vendor, WIRE, Answer((), refusal="Not that."))
    message = asked_for(client, [USER], streamed=streamed).choices[0].message
    assert message.refusal == "Not that."
    assert not message.content


def test_schemas_are_accepted_and_parsed(client: OpenAI, vendor: SimulatedVendor) -> None:
    speak(vendor, WIRE, Answer((Text('{"city": "Rome"}'),)))
    completion = client.chat.completions.parse(
        model=MODEL, messages=[USER], response_format=Weather
    )
    assert completion.choices[0].message.parsed == Weather(city="Rome")


def test_reasoning_is_kept_beside_the_text(client: OpenAI, vendor: SimulatedVendor) -> None:
    speak(vendor, OpenAIChat(reasons=["reasoning_content"]), Answer((Thought("Hm."), Text("A"))))
    message: Any = client.chat.completions.create(model=MODEL, messages=[USER]).choices[0].message
    assert (message.reasoning_content, message.content) == ("Hm.", "A")


@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_it_raises_what_breaks_a_stream(
    client: OpenAI, vendor: SimulatedVendor, breaks: Any
) -> None:
    speak(vendor, WIRE, Answer(breaks=breaks))
    with pytest.raises(openai.APIError, match=r"overloaded|Connection error"):
        asked_for(client, [USER], streamed=True)


CALLED: Any = {
    "role": "assistant",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT: Any = {"role": "tool", "tool_call_id": "c1", "content": "x"}
TOOL: Any = {"type": "function", "function": {"name": "f"}}

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unanswered": ({"messages": [USER, CALLED, USER]}, "did not have response messages"),
    "an orphan": ({"messages": [USER, RESULT]}, "must be a response"),
    "a role": ({"messages": [{"role": "boss", "content": "x"}]}, "role"),
    "an unknown part": ({"messages": [{**USER, "content": [{"type": "video_url"}]}]}, "content"),
    "an unknown key of a message": ({"messages": [{**USER, "reasoning": "x"}]}, "reasoning"),
    "no tools": ({"messages": [USER], "tools": []}, "empty array"),
    "a choice of none": ({"messages": [USER], "tool_choice": "auto"}, "when 'tools' are"),
    "another's choice": (
        {
            "messages": [USER],
            "tools": [TOOL],
            "tool_choice": {"type": "function", "function": {"name": "g"}},
        },
        "not one of the tools",
    ),
    "a name": (
        {"messages": [USER], "tools": [{"type": "function", "function": {"name": "a.b"}}]},
        "pattern",
    ),
    "an unknown key": ({"messages": [USER], "extra_body": {"top_k": 3}}, "top_k"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_simulator_refuses(client: OpenAI, vendor: SimulatedVendor, wrong: str) -> None:
    speak(vendor, WIRE, Answer())
    body, says = WRONG[wrong]
    with pytest.raises(openai.BadRequestError, match=says):
        client.chat.completions.create(**{"model": MODEL, **body})
