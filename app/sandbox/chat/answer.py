"""The model `echo` in chat: a request in, its replies out. No I/O.

If the last message is the result of a tool, its text comes back. Otherwise the model calls tools if
`tool_choice` demands it, if the knob `calls` says so, or if the last user message names them. In
all other cases the last user message comes back, or the least JSON that fits `response_format`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Literal

from app.sandbox.chat.instances import least
from app.sandbox.chat.messages import count_tokens, is_answered, words_to_echo
from app.sandbox.chat.request import ChatEchoRequest
from app.sandbox.echo import FILLER, cut_at, repeated

FinishReason = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True)
class EchoCall:
    """A call of a tool; its arguments are the joined pieces."""

    id: str
    name: str
    type: str
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EchoReply:
    """One choice: its reasoning, its text and its calls, each in pieces of one token."""

    index: int
    reasoning: tuple[str, ...]
    pieces: tuple[str, ...]
    calls: tuple[EchoCall, ...]
    finish_reason: FinishReason

    @property
    def tokens(self) -> int:
        """How many tokens were generated."""
        called = sum(len(call.pieces) for call in self.calls)
        return len(self.reasoning) + len(self.pieces) + called


def reply_to(request: ChatEchoRequest) -> tuple[EchoReply, ...]:
    """Return the choices; sample k starts with word k, so that samples differ."""
    return tuple(_reply(request, index) for index in range(request.n))


def count_usage(request: ChatEchoRequest, replies: Iterable[EchoReply]) -> dict[str, Any]:
    """Return OpenAI's usage object."""
    prompt_tokens = count_tokens(request.messages, request.all_tools)
    found = list(replies)
    generated = sum(reply.tokens for reply in found)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": generated,
        "total_tokens": prompt_tokens + generated,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": sum(len(reply.reasoning) for reply in found)
        },
    }


def _reply(request: ChatEchoRequest, index: int) -> EchoReply:
    text = words_to_echo(request.messages)
    left = request.max_tokens
    thought = repeated(text, index, request.knobs.reasoning or 0)[:left]
    if left is not None:
        left -= len(thought)
    called = _chosen(request, text)
    if called:
        calls, is_whole = _calls(request, called, text, index, left)
        reason: FinishReason = "tool_calls" if is_whole else "length"
        return EchoReply(index, tuple(thought), (), calls, reason)
    pieces = _pieces(request, text, index)
    allowed = pieces[:left]
    kept = cut_at(allowed, request.stop)
    reason = "length" if len(allowed) < len(pieces) and kept == allowed else "stop"
    return EchoReply(index, tuple(thought), tuple(kept), (), reason)


def _pieces(request: ChatEchoRequest, text: str, index: int) -> list[str]:
    """Return the text of a reply without calls, before it is cut."""
    kind = request.response_format["type"]
    if kind == "text":
        length = len(text.split()) if request.knobs.words is None else request.knobs.words
        return repeated(text, index, length)
    if kind == "json_object":
        value: Any = {"text": text}
    else:
        schema = request.response_format["json_schema"].get("schema") or {"type": "object"}
        value = least(schema, text.split(), index)
    return _split(json.dumps(value, ensure_ascii=False))


def _chosen(request: ChatEchoRequest, text: str) -> Sequence[Mapping[str, Any]]:
    """Return the tools to call, in the order of the calls."""
    if request.mode == "none" or not request.tools or is_answered(request.messages):
        return ()
    said = set(re.findall(r"[\w-]+", text))
    named = [tool for tool in request.tools if tool["name"] in said]
    if not named and (request.mode == "required" or request.knobs.calls):
        named = [request.tools[0]]
    count = len(named) if request.knobs.calls is None else request.knobs.calls
    if not request.is_parallel:
        count = min(count, 1)
    return list(islice(cycle(named), count)) if named else ()


def _calls(
    request: ChatEchoRequest,
    tools: Sequence[Mapping[str, Any]],
    text: str,
    index: int,
    left: int | None,
) -> tuple[tuple[EchoCall, ...], bool]:
    """Return the calls, as far as the tokens that are left allow, and whether they are whole."""
    names = {tool["name"] for tool in request.tools}
    words = [word for word in text.split() if word.strip(".,:;!?") not in names]
    calls: list[EchoCall] = []
    for at, tool in enumerate(tools):
        if tool["type"] == "custom":
            pieces = repeated(" ".join(words), index + at, max(len(words), 1))
        else:
            schema = tool.get("parameters") or {"type": "object"}
            arguments = least(schema, words, index + at, "tools")
            pieces = _split(json.dumps(arguments, ensure_ascii=False))
        kept = tuple(pieces[:left])
        seed = json.dumps([len(request.messages), index, at, tool["name"], pieces])
        call_id = f"call_{hashlib.sha256(seed.encode()).hexdigest()[:24]}"
        calls.append(EchoCall(call_id, tool["name"], tool["type"], kept))
        if left is not None:
            left -= len(kept)
        if len(kept) < len(pieces):
            return tuple(calls), False
    return tuple(calls), True


def _split(text: str) -> list[str]:
    """Return a text in pieces of one token."""
    return re.findall(r"\s*\S+", text) or list(FILLER)
