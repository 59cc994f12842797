"""Conversations that a caller might send, by a pair of dice: sound ones, odd ones, hostile ones."""

import json
import random
from collections.abc import Callable
from typing import Any

from tests.fuzz.bodies import LARGE_BYTES, ODD

_USER = {"role": "user", "content": "one two three"}
_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_PARTS: tuple[Any, ...] = (
    {"type": "text", "text": "x"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
    {"type": "file", "file": {"file_id": "f"}},
    {"type": "x"},
)
_MESSAGES: tuple[Any, ...] = (
    _USER,
    {"role": "system", "content": "be brief"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "x"},
    {"role": "user", "content": list(_PARTS)},
)
_TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
_FIELDS = (
    *("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "functions"),
    *("function_call", "audio", "metadata", "modalities", "prediction", "reasoning_effort", "stop"),
    *("logprobs", "top_logprobs", "max_tokens", "max_completion_tokens", "web_search_options"),
    *("n", "stream", "stream_options", "service_tier", "moderation", "prompt", "x" * 300),
)


def conversation(dice: random.Random, tag: str) -> bytes:
    """Return a body; one that asks for an answer asks for it as the user `tag`."""
    return json.dumps(dice.choice(_KINDS)(dice, tag)).encode()


def _sound(dice: random.Random, tag: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": "sim/m", "messages": [_USER], "user": tag}
    if dice.random() < 0.5:
        asked["stream"] = True
    if dice.random() < 0.3:
        asked["n"] = dice.randrange(1, 5)
    if dice.random() < 0.3:
        asked["messages"] = [*dice.choices(_MESSAGES, k=dice.randrange(8)), _USER]
    if dice.random() < 0.3:
        asked["tools"] = [_TOOL]
    return asked


def _odd_field(dice: random.Random, tag: str) -> dict[str, Any]:
    return _sound(dice, tag) | {dice.choice(_FIELDS): dice.choice(ODD)}


def _odd_inside(dice: random.Random, tag: str) -> dict[str, Any]:
    """Return one with an odd value somewhere inside of a message, a part, a call or a tool."""
    asked: dict[str, Any] = json.loads(
        json.dumps(_sound(dice, tag) | {"tools": [_TOOL], "messages": _MESSAGES})
    )
    at: Any = asked[dice.choice(("messages", "tools"))]
    while True:
        key = dice.choice(list(at) if isinstance(at, dict) else range(len(at)))
        if not isinstance(at[key], dict | list) or not at[key] or dice.random() < 0.2:
            at[key] = dice.choice(ODD)
            return dict(asked)
        at = at[key]


def _many(dice: random.Random, tag: str) -> dict[str, Any]:
    """Return one with as many messages, parts, calls or tools as the limits allow, or more."""
    count = int(60_000 ** dice.uniform(0.3, 1.0))
    asked = _sound(dice, tag)
    kind = dice.randrange(4)
    if kind == 0:
        return asked | {"messages": [dice.choice(_MESSAGES)] * count}
    if kind == 1:
        return asked | {"messages": [{"role": "user", "content": [dice.choice(_PARTS)] * count}]}
    if kind == 2:
        return asked | {"messages": [{"role": "assistant", "tool_calls": [_CALL] * count}]}
    return asked | {"tools": [_TOOL] * min(count, 1000)}


def _deep(dice: random.Random, tag: str) -> dict[str, Any]:
    schema: Any = {}
    for _ in range(dice.randrange(80)):
        schema = {"properties": {"x": schema}} if dice.random() < 0.5 else {"items": schema}
    function = {"name": "f", "parameters": schema}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    tools = [{"type": "function", "function": function}]
    return _sound(dice, tag) | dice.choice(({"tools": tools}, {"response_format": form}))


def _large(dice: random.Random, tag: str) -> dict[str, Any]:
    size = int(LARGE_BYTES ** dice.uniform(0.5, 1.0)) // 2
    url = "data:image/png;base64," + "A" * size
    part = {"type": "image_url", "image_url": {"url": url}}
    said = dice.choice(([part], "word " * (size // 5)))
    return _sound(dice, tag) | {"messages": [{"role": "user", "content": said}]}


_KINDS: tuple[Callable[[random.Random, str], dict[str, Any]], ...] = (
    *(_sound, _sound, _odd_field, _odd_field, _odd_inside, _odd_inside, _odd_inside),
    *(_many, _many, _deep, _large),
)
