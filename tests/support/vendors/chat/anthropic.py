"""Anthropic's Messages as a chat: what it refuses of a conversation, and what it answers.

Source: the types of Anthropic's Python SDK (2.14), the API's reference (working with messages,
tool use, extended thinking, structured outputs), and the errors that its clients report.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from anthropic.types.beta import message_create_params as beta
from anthropic.types.message_create_params import MessageCreateParams

from tests.support.vendor import CUT, Asked, Reply, json_reply
from tests.support.vendors.anthropic import (
    REQUEST_ID,
    SAMPLING,
    AnthropicWire,
    error_body,
    error_reply,
    named_event,
)
from tests.support.vendors.chat.anthropic_rules import complaints
from tests.support.vendors.chat.script import (
    Answer,
    Block,
    Call,
    Counts,
    Finish,
    Text,
    hung_up,
    sealed,
    signature,
)
from tests.support.vendors.chat.typed import complaint

TYPES: Mapping[str, Any] = {
    "/v1/messages": MessageCreateParams,
    "/v1/messages?beta=true": beta.MessageCreateParams,
}

#: What the SDK's types have no more, and models up to 4.6 take.
SAMPLED = frozenset(SAMPLING)

STOP_REASONS: Mapping[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "tool_calls": "tool_use",
}


class AnthropicChat(AnthropicWire):
    """`/v1/messages`, with tools, images, thinking and structured output."""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Anthropic refuses."""
        if asked.path not in TYPES:
            return error_reply(404, "not_found_error", "Not Found")
        key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "")
        if key.removeprefix("Bearer ") != "sk-test":
            return self.refuse(asked, "bad_key")
        wrong = complaint(asked.body, TYPES[asked.path], SAMPLED) or next(
            complaints(asked.headers.get("anthropic-version"), asked.body), None
        )
        return error_reply(400, "invalid_request_error", wrong) if wrong else None

    def says(self, asked: Asked, said: Answer) -> Reply:
        """Answer as the script says, whole or streamed."""
        message: dict[str, Any] = {
            "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_of(said.counts),
        }
        if asked.body.get("stream"):
            return _streamed(message, said)
        if said.breaks == "error":
            return error_reply(529, "overloaded_error", "Overloaded")
        message |= {"content": [whole(block) for block in said.blocks], **_end(said)}
        return hung_up(message) if said.breaks else json_reply(message, 200, **REQUEST_ID)


def whole(block: Block) -> dict[str, Any]:
    """Return a block of a message."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text, "citations": None}
    if isinstance(block, Call):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    if block.redacted:
        return {"type": "redacted_thinking", "data": sealed(block.text)}
    return {"type": "thinking", "thinking": block.text, "signature": signature(block.text)}


def usage_of(counts: Counts) -> dict[str, Any]:
    """Return Anthropic's counts: what is read from a cache or written to one is no input."""
    return {
        "input_tokens": counts.prompt - counts.cached - counts.written,
        "cache_creation_input_tokens": counts.written,
        "cache_read_input_tokens": counts.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counts.written - counts.written_1h,
            "ephemeral_1h_input_tokens": counts.written_1h,
        },
        "output_tokens": counts.completion,
        "output_tokens_details": {"thinking_tokens": counts.reasoning},
        "server_tool_use": {"web_search_requests": counts.searches, "web_fetch_requests": 0}
        if counts.searches
        else None,
        "service_tier": "standard",
    }


def _end(said: Answer) -> dict[str, Any]:
    refused = said.ending == "content_filter"
    details = {"type": "refusal", "category": "cyber", "explanation": said.refusal}
    return {
        "stop_reason": STOP_REASONS[said.ending],
        "stop_sequence": None,
        "stop_details": details if refused else None,
    }


def _streamed(message: Mapping[str, Any], said: Answer) -> Reply:
    start = {**message, "usage": usage_of(said.counts) | {"output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(said.blocks):
        events += _events(index, block)
    if said.breaks == "error":
        events.append(error_body("overloaded_error", "Overloaded"))
    if said.breaks is None:
        usage = usage_of(said.counts)
        del usage["cache_creation"], usage["service_tier"]
        events.append({"type": "message_delta", "delta": _end(said), "usage": usage})
        events.append({"type": "message_stop"})
    headers = {"content-type": "text/event-stream; charset=utf-8", **REQUEST_ID}
    steps: list[Any] = [named_event(event) for event in events]
    return Reply([*steps, CUT] if said.breaks == "hang_up" else steps, 200, headers)


def _events(index: int, block: Block) -> Iterator[dict[str, Any]]:
    begun, deltas = _pieces(block)
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _pieces(block: Block) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return how a block begins, and its deltas."""
    it = whole(block)
    if isinstance(block, Text):
        return it | {"text": ""}, [{"type": "text_delta", "text": t} for t in block.pieces()]
    if isinstance(block, Call):
        pieces = [] if block.arguments == "{}" else block.pieces()
        fragments = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces]]
        return it | {"input": {}}, fragments
    if block.redacted:
        return it, []
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in Text(block.text).pieces()]
    signed = {"type": "signature_delta", "signature": it["signature"]}
    return it | {"thinking": "", "signature": ""}, [*deltas, signed]
