"""Anthropic's vendor entry, and events and messages as bytes."""

from typing import Any

from tests.gateways.rows import Row
from tests.support.vendor import Asked
from tests.support.vendors.anthropic import AnthropicWire, named_event
from tests.support.vendors.base import Said

ROW = Row("anthropic", "ANTHROPIC_API_KEY")
PING = AnthropicWire.keep_alive
STOP = {"type": "message_stop"}


def delta(text: str) -> dict[str, Any]:
    """Return an event with a piece of text."""
    return {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    }


def end(reason: Any = "end_turn", **usage: Any) -> dict[str, Any]:
    """Return the event with the reason for stopping, and counts."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def start(**usage: Any) -> dict[str, Any]:
    """Return the first event, with counts."""
    return {"type": "message_start", "message": {"id": "msg_1", "model": "c-1", "usage": usage}}


def stream(*events: dict[str, Any]) -> list[bytes]:
    """Return events as bytes."""
    return [named_event(event) for event in events]


def message(**fields: Any) -> dict[str, Any]:
    """Return a whole message, with these fields changed."""
    return {
        "id": "msg_1",
        "type": "message",
        "model": "c-1",
        "content": [{"type": "text", "text": "one"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
        **fields,
    }


def simulated(said: Said, **body: Any) -> bytes:
    """Return the body of the simulated vendor's answer to a request with these fields."""
    reply = AnthropicWire().answer(Asked("/v1/messages", {}, body, 1), said)
    return b"".join(step for step in reply.body if isinstance(step, bytes))
