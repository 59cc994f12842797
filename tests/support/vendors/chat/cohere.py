"""Cohere's v2 chat, with tools, images and thinking.

Source: the types of Cohere's Python SDK (7.3), the API's reference, and the errors that its clients
report.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import cohere

from tests.support.vendor import CUT, Asked, Reply, json_reply
from tests.support.vendors.chat.script import Answer, Call, Finish, Text, Thought, hung_up
from tests.support.vendors.chat.typed import complaint
from tests.support.vendors.cohere import ID, PREAMBLE, RANGES, CohereWire, error_reply, typed_event

Body = Mapping[str, Any]

#: Fields of a request and their types, as `ClientV2.chat` has them.
FIELDS: Mapping[str, Any] = {
    "model": str,
    "messages": list[cohere.ChatMessageV2],
    "tools": list[cohere.ToolV2],
    "strict_tools": bool,
    "documents": list,
    "citation_options": cohere.CitationOptions,
    "response_format": cohere.ResponseFormatV2,
    "safety_mode": str,
    "max_tokens": int,
    "stop_sequences": list[str],
    "temperature": float,
    "seed": int,
    "frequency_penalty": float,
    "presence_penalty": float,
    "k": int,
    "p": float,
    "logprobs": bool,
    "tool_choice": str,
    "thinking": cohere.Thinking,
    "priority": int,
    "stream": bool,
}

REASONS: Mapping[Finish, str] = {
    "stop": "COMPLETE",
    "length": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    # Cohere has no word for a filter; its safety modes answer in words
    "content_filter": "COMPLETE",
}


class CohereChat(CohereWire):
    """`/v2/chat`."""

    model = "command-a-reasoning-08-2025"

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Cohere refuses."""
        if asked.path != "/v2/chat":
            return error_reply(404, "not found")
        if asked.headers.get("authorization") != "Bearer sk-test":
            return self.refuse(asked, "bad_key")
        return next(_unknown(asked.body), None) or next(_complaints(asked.body), None)

    def says(self, asked: Asked, said: Answer) -> Reply:
        """Answer as the script says, whole or streamed."""
        if asked.body.get("stream"):
            steps: list[Any] = [typed_event(event) for event in _events(said)]
            steps += [CUT] if said.breaks == "hang_up" else []
            return Reply(steps, 200, {"content-type": "text/event-stream"})
        if said.breaks == "error":
            return self.refuse(asked, "server_error")
        body = {
            "id": ID,
            "message": _message(said),
            "finish_reason": REASONS[said.ending],
            "usage": usage_of(said),
        }
        return hung_up(body) if said.breaks else json_reply(body)


def usage_of(said: Answer) -> dict[str, Any]:
    """Return Cohere's counts, in floats: what it bills, and what its models read."""
    billed = {
        "input_tokens": float(said.counts.prompt),
        "output_tokens": float(said.counts.completion),
    }
    seen = {**billed, "input_tokens": float(said.counts.prompt + PREAMBLE)}
    cached = {"cached_tokens": float(said.counts.cached)}
    return {"billed_units": billed, "tokens": seen, **cached}


def _unknown(body: Body) -> Iterator[Reply]:
    for name, value in body.items():
        if name not in FIELDS:
            yield error_reply(422, f"unknown field: parameter '{name}' is not a valid field")
        elif (wrong := complaint(value, FIELDS[name])) is not None:
            yield error_reply(422, f"invalid type: parameter {name}.{wrong}")


def _complaints(body: Body) -> Iterator[Reply]:
    yield from (error_reply(400, f"invalid request: {words}") for words in _wrong(body))


def _wrong(body: Body) -> Iterator[str]:
    if not body.get("messages"):
        yield "message must be at least 1 token long or tool results must be specified."
    for name, (low, high) in RANGES.items():
        if name in body and not low <= body[name] <= high:
            yield f"{name} must be from {low} to {high}"
    if "frequency_penalty" in body and "presence_penalty" in body:
        yield "cannot specify both frequency_penalty and presence_penalty."
    if len(body.get("stop_sequences", [])) > 5:
        yield "too many stop sequences: at most 5."
    yield from _wrong_with_tools(body)
    for at, message in enumerate(body["messages"]):
        if message["role"] not in ("system", "user", "assistant", "tool"):
            yield f"messages[{at}].role is invalid"
        if not message.get("content") and not message.get("tool_calls"):
            yield f"messages[{at}] must have content or tool calls."
    yield from _wrong_with_calls(body["messages"])


def _wrong_with_tools(body: Body) -> Iterator[str]:
    if body.get("tool_choice", "NONE") not in ("REQUIRED", "NONE"):
        yield "tool_choice must be REQUIRED or NONE"
    if "tool_choice" in body and not body.get("tools"):
        yield "tool_choice is specified without tools."
    if body.get("response_format", {}).get("type") == "json_object" and body.get("tools"):
        yield "response_format of type json_object is not supported with tools or documents."
    if "thinking" in body and body["thinking"]["type"] not in ("enabled", "disabled"):
        yield "thinking.type must be enabled or disabled"
    if body.get("thinking", {}).get("token_budget", 1) < 1:
        yield "thinking.token_budget must be positive"


def _wrong_with_calls(messages: Any) -> Iterator[str]:
    """Each call is answered after its message, and nothing else is."""
    open_calls: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"messages[{at}]: tool call id {message['tool_call_id']} not found."
            open_calls.discard(message["tool_call_id"])
            continue
        if open_calls:
            yield f"messages[{at}]: missing tool results of {', '.join(sorted(open_calls))}."
        open_calls = {call["id"] for call in message.get("tool_calls") or []}
    if open_calls:
        yield f"missing tool results of {', '.join(sorted(open_calls))}."


def _message(said: Answer) -> dict[str, Any]:
    """Return the message; its text is the plan where there are calls."""
    content = [_content(block) for block in said.blocks if isinstance(block, Thought)]
    if not said.calls:
        return {"role": "assistant", "content": [*content, {"type": "text", "text": said.text}]}
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in said.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "tool_plan": said.text, "tool_calls": calls}
    return {**message, **({"content": content} if content else {})}


def _content(thought: Thought) -> dict[str, str]:
    return {"type": "thinking", "thinking": thought.text}


def _events(said: Answer) -> Iterator[dict[str, Any]]:
    opening = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
    yield {"type": "message-start", "id": ID, "delta": {"message": opening}}
    calls = 0
    for index, block in enumerate(said.blocks):
        if isinstance(block, Call):
            yield from _call(calls, block)
            calls += 1
        elif isinstance(block, Text) and said.calls:
            for piece in block.pieces():
                yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
        else:
            yield from _block(index, block)
    if said.breaks == "error":
        failed = {"finish_reason": "ERROR", "error": "the model is overloaded"}
        yield {"type": "message-end", "id": ID, "delta": failed}
    if said.breaks is None:
        delta = {"finish_reason": REASONS[said.ending], "usage": usage_of(said)}
        yield {"type": "message-end", "id": ID, "delta": delta}


def _block(index: int, block: Text | Thought) -> Iterator[dict[str, Any]]:
    kind = "text" if isinstance(block, Text) else "thinking"
    start = {"type": kind, kind: ""}
    yield {"type": "content-start", "index": index, "delta": {"message": {"content": start}}}
    for piece in Text(block.text).pieces():
        delta = {"message": {"content": {kind: piece}}}
        yield {"type": "content-delta", "index": index, "delta": delta}
    yield {"type": "content-end", "index": index}


def _call(index: int, call: Call) -> Iterator[dict[str, Any]]:
    begun = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    start = {"message": {"tool_calls": begun}}
    yield {"type": "tool-call-start", "index": index, "delta": start}
    for piece in [] if call.arguments == "{}" else call.pieces():
        delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
        yield {"type": "tool-call-delta", "index": index, "delta": delta}
    yield {"type": "tool-call-end", "index": index}
