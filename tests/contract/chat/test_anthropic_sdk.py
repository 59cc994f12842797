"""Anthropic's own client holds a conversation with the simulator: its tool loop, its streams."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool
from pydantic import BaseModel

from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.anthropic import AnthropicChat
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought, signature
from tests.support.vendors.chat.scripted import speak

MODEL = "claude-haiku-4-5"
THINKING: Any = {"type": "enabled", "budget_tokens": 1024}
LOOP = (
    Answer((Thought("First."), Text("I look."), Call("toolu_1", "weather", '{"city": "Rome"}'))),
    Answer((Thought("Next."), Thought("Secret.", redacted=True), Call("toolu_2", "today"))),
    Answer((Thought("Done."), Text("It is warm."))),
)


@pytest.fixture
def client(vendor: SimulatedVendor) -> Iterator[anthropic.Anthropic]:
    base_url = vendor.url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=base_url, api_key="sk-test", max_retries=0) as client:
        yield client


@beta_tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"warm in {city}"


@beta_tool
def today() -> str:
    """Tell the date."""
    return "Monday"


@pytest.mark.parametrize("streamed", [False, True])
def test_its_tool_loop_brings_signatures_back(
    client: anthropic.Anthropic, vendor: SimulatedVendor, streamed: bool
) -> None:
    speak(vendor, AnthropicChat(), *LOOP)
    runner: Any = client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=2000,
        messages=[{"role": "user", "content": "How is Rome?"}],
        tools=[weather, today],
        thinking=THINKING,
        thread=False,  # the whole history, with each call
        stream=streamed,
    )
    said = runner.until_done()
    assert [block.type for block in said.content] == ["thinking", "text"]
    assert said.content[1].text == "It is warm."
    first, second = vendor.asked[-1].body["messages"][1], vendor.asked[-1].body["messages"][3]
    assert first["content"][0]["signature"] == signature("First.")
    assert [block["type"] for block in second["content"]] == [
        "thinking",
        "redacted_thinking",
        "tool_use",
    ]
    assert vendor.asked[-1].body["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"


def test_its_stream_accumulates_parallel_calls(
    client: anthropic.Anthropic, vendor: SimulatedVendor
) -> None:
    calls = (Call("toolu_1", "f", '{"a": "b c"}'), Call("toolu_2", "f"))
    counts = Counts(
        prompt=1000, completion=50, cached=100, written=800, written_1h=300, reasoning=9
    )
    speak(vendor, AnthropicChat(), Answer((Text("Both."), *calls), counts=counts))
    tools: Any = [{"name": "f", "input_schema": {"type": "object"}}]
    with client.messages.stream(
        model=MODEL, max_tokens=20, messages=[{"role": "user", "content": "hi"}], tools=tools
    ) as stream:
        said = stream.get_final_message()
    _, one, two = said.content
    assert (one.type, two.type) == ("tool_use", "tool_use")
    assert isinstance(one, anthropic.types.ToolUseBlock)
    assert isinstance(two, anthropic.types.ToolUseBlock)
    assert (one.input, two.input) == ({"a": "b c"}, {})
    assert said.stop_reason == "tool_use"
    usage = said.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens) == (100, 100)
    assert (usage.cache_creation_input_tokens, usage.output_tokens) == (800, 50)
    assert usage.cache_creation is not None
    assert usage.cache_creation.ephemeral_1h_input_tokens == 300


def test_its_schemas_are_accepted_and_parsed(
    client: anthropic.Anthropic, vendor: SimulatedVendor
) -> None:
    class City(BaseModel):
        name: str
        people: int | None

    speak(vendor, AnthropicChat(), Answer((Text('{"name": "Rome", "people": 3}'),)))
    said = client.messages.parse(
        model=MODEL,
        max_tokens=20,
        messages=[{"role": "user", "content": "hi"}],
        output_format=City,
    )
    assert said.parsed_output == City(name="Rome", people=3)


@pytest.mark.parametrize("streamed", [False, True])
def test_it_reads_a_refusal(
    client: anthropic.Anthropic, vendor: SimulatedVendor, streamed: bool
) -> None:
    refused = Answer((Text("I"),), finish="content_filter", refusal="Not that.")
    speak(vendor, AnthropicChat(), refused)
    ask: Any = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    if streamed:
        with client.messages.stream(**ask) as stream:
            said = stream.get_final_message()
    else:
        said = client.messages.create(**ask)
    assert said.stop_reason == "refusal"
    assert said.stop_details is not None
    assert said.stop_details.explanation == "Not that."


@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_it_raises_what_breaks_a_stream(
    client: anthropic.Anthropic, vendor: SimulatedVendor, breaks: Any
) -> None:
    speak(vendor, AnthropicChat(), Answer(breaks=breaks))
    with (
        client.messages.stream(
            model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
        pytest.raises(Exception, match=r"Overloaded|peer closed|incomplete") as caught,
    ):
        stream.get_final_message()
    assert isinstance(caught.value, anthropic.APIStatusError) is (breaks == "error")


USER: Any = {"role": "user", "content": "hi"}
CALLED: Any = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}],
}
RESULT: Any = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}],
}
TOOLS: Any = [{"name": "f", "input_schema": {"type": "object"}}]
THOUGHT: Any = {"type": "thinking", "thinking": "First.", "signature": signature("First.")}


def thought(**change: str) -> Any:
    return {**CALLED, "content": [{**THOUGHT, **change}, *CALLED["content"]]}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no first user": ({"messages": [CALLED, RESULT], "tools": TOOLS}, "first message"),
    "unanswered": ({"messages": [USER, CALLED, USER], "tools": TOOLS}, "without `tool_result`"),
    "answered late": (
        {"messages": [USER, CALLED, USER, RESULT], "tools": TOOLS},
        "without `tool_result`",
    ),
    "answered twice": (
        {
            "messages": [USER, CALLED, {**RESULT, "content": RESULT["content"] * 2}],
            "tools": TOOLS,
        },
        "unexpected `tool_use_id`",
    ),
    "text before results": (
        {
            "messages": [
                USER,
                CALLED,
                {**RESULT, "content": [{"type": "text", "text": "x"}, *RESULT["content"]]},
            ],
            "tools": TOOLS,
        },
        "must come first",
    ),
    "no tools": ({"messages": [USER, CALLED, RESULT]}, "must define tools"),
    "empty text": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
        "non-empty",
    ),
    "blank system": ({"messages": [USER], "system": ""}, "non-empty"),
    "bad id": (
        {
            "messages": [
                USER,
                {**CALLED, "content": [{**CALLED["content"][0], "id": "a.b:0"}]},
                {**RESULT, "content": [{**RESULT["content"][0], "tool_use_id": "a.b:0"}]},
            ],
            "tools": TOOLS,
        },
        "match",
    ),
    "unknown key": ({"messages": [{**USER, "name": "Bob"}]}, "name: Extra inputs"),
    "unknown key of a block": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "id": "1"}]}]},
        "id: Extra inputs",
    ),
    "trailing blank": (
        {"messages": [USER, {"role": "assistant", "content": "so "}]},
        "trailing whitespace",
    ),
    "no thought": (
        {"messages": [USER, CALLED, RESULT], "tools": TOOLS, "thinking": THINKING},
        "Expected `thinking`",
    ),
    "changed thought": (
        {
            "messages": [USER, thought(thinking="Firs."), RESULT],
            "tools": TOOLS,
            "thinking": THINKING,
        },
        "Invalid `signature`",
    ),
    "thought without thinking": (
        {"messages": [USER, thought(), RESULT], "tools": TOOLS},
        "not enabled",
    ),
    "budget of all": (
        {"messages": [USER], "thinking": THINKING, "max_tokens": 1024},
        "must be greater",
    ),
    "forced thinker": (
        {"messages": [USER], "tools": TOOLS, "thinking": THINKING, "tool_choice": {"type": "any"}},
        "forces tool use",
    ),
    "tool without object": (
        {"messages": [USER], "tools": [{"name": "f", "input_schema": {}}]},
        "input_schema",
    ),
    "open schema": (
        {
            "messages": [USER],
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        },
        "additionalProperties",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_simulator_refuses(
    client: anthropic.Anthropic, vendor: SimulatedVendor, wrong: str
) -> None:
    speak(vendor, AnthropicChat(), Answer())
    body, says = WRONG[wrong]
    with pytest.raises(anthropic.BadRequestError, match=says):
        client.messages.create(**{"model": MODEL, "max_tokens": 2000, **body})
