"""What callers ask of chat, what the vendor then says, and what they must get."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWj"
    "R9awAAAABJRU5ErkJggg=="
)
USER: dict[str, Any] = {"role": "user", "content": "How is Rome?"}
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tell the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
CITY: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "city",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "people": {"type": ["integer", "null"]}},
            "required": ["name", "people"],
            "additionalProperties": False,
        },
    },
}
#: Nine letters and digits: every vendor takes such an id.
ROME = Call("callRome1", "weather", json.dumps({"city": "Rome"}))
OSLO = Call("callOslo2", "weather", json.dumps({"city": "Oslo"}))
CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": ROME.id,
            "type": "function",
            "function": {"name": "weather", "arguments": ROME.arguments},
        }
    ],
}
RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": ROME.id, "content": "warm"}
COUNTS = Counts(prompt=30, completion=12, cached=4)


SAID = Answer(counts=COUNTS)


@dataclass(frozen=True)
class Scenario:
    """A request, beside its model, and the answer that the vendor gives."""

    messages: list[Any] = field(default_factory=lambda: [USER])
    answer: Answer = SAID
    more: Mapping[str, Any] = field(default_factory=dict)


def _answer(*blocks: Any, **more: Any) -> Answer:
    return Answer(blocks, counts=COUNTS, **more)


SCENARIOS: Mapping[str, Scenario] = {
    "text": Scenario(),
    "system": Scenario([{"role": "system", "content": "Be short."}, USER]),
    "two system messages": Scenario(
        [{"role": "system", "content": "Be short."}, {"role": "system", "content": "Rhyme."}, USER]
    ),
    "several turns": Scenario(
        [
            {"role": "system", "content": "Be short."},
            USER,
            {"role": "assistant", "content": "Warm."},
            {"role": "user", "content": [{"type": "text", "text": "And Oslo?"}]},
        ]
    ),
    "image": Scenario(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": PNG}},
                ],
            }
        ]
    ),
    "tool call": Scenario(answer=_answer(ROME), more={"tools": [WEATHER]}),
    "text before a call": Scenario(
        answer=_answer(Text("Let me look."), ROME), more={"tools": [WEATHER]}
    ),
    "parallel calls": Scenario(answer=_answer(ROME, OSLO), more={"tools": [WEATHER]}),
    "call without arguments": Scenario(
        answer=_answer(Call("callToday", "today")),
        more={"tools": [{"type": "function", "function": {"name": "today"}}]},
    ),
    "forced call": Scenario(
        answer=_answer(ROME),
        more={
            "tools": [WEATHER],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
        },
    ),
    "tool result": Scenario([USER, CALLED, RESULT], more={"tools": [WEATHER]}),
    "structured output": Scenario(
        answer=_answer(Text('{"name": "Rome", "people": 3}')), more={"response_format": CITY}
    ),
    "stop": Scenario(more={"stop": ["END"]}),
    "length": Scenario(answer=_answer(Text("one two"), finish="length"), more={"max_tokens": 2000}),
    "filtered": Scenario(answer=_answer(Text("one"), finish="content_filter")),
    "reasoning": Scenario(
        answer=_answer(Thought("Hm. So."), Text("It is warm.")), more={"reasoning_effort": "high"}
    ),
}
