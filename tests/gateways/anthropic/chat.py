"""Anthropic's chat gateway, its simulated vendor, and requests and replies for both."""

from collections.abc import Iterable
from typing import Any

from tests.gateways.chat_rows import ChatRow
from tests.support.vendor import Asked
from tests.support.vendors.chat.anthropic import AnthropicChat
from tests.support.vendors.chat.script import Answer

ENV = {"ANTHROPIC_API_KEY": "sk-test"}
ROW = ChatRow("anthropic", ENV)
LAX = ChatRow("anthropic", ENV, drop_unsupported=True)

#: A model with budgets, one with efforts, and one that does not reason.
BUDGETS = "claude-sonnet-4-5-20250929"
EFFORTS = "claude-opus-4-8"
OLD = "claude-3-5-haiku-20241022"

HOUR = {"type": "ephemeral", "ttl": "1h"}
USER = {"role": "user", "content": "hi"}


def tool(name: str, **fields: Any) -> dict[str, Any]:
    """Return a function as the caller defines it."""
    return {"type": "function", "function": {"name": name, **fields}}


def call(call_id: str, name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    """Return a call as the caller sends it back."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, content: Any = "done", **fields: Any) -> dict[str, Any]:
    """Return a tool's message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def calling(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an assistant's message with calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}


def sent(model: str, messages: Any = "hi", **fields: Any) -> dict[str, Any]:
    """Return the body that the vendor gets, which it accepts."""
    body = ROW.sent(model, messages, **fields)
    assert complaint(body) is None, complaint(body)
    return body


def complaint(body: dict[str, Any]) -> bytes | None:
    """Return what the vendor refuses of a body, by its SDK's types and its own rules; or None."""
    reply = AnthropicChat().check(_asked(body))
    return None if reply is None else b"".join(s for s in reply.body if isinstance(s, bytes))


def said(answer: Answer, **body: Any) -> bytes:
    """Return the vendor's answer, whole or with `stream`, as bytes."""
    reply = AnthropicChat().says(_asked({"model": "c-1", **body}), answer)
    return b"".join(step for step in reply.body if isinstance(step, bytes))


def _asked(body: dict[str, Any]) -> Asked:
    headers = {"anthropic-version": "2023-06-01", "x-api-key": "sk-test"}
    return Asked("/v1/messages", headers, body, 1)


def types_of(blocks: Iterable[dict[str, Any]]) -> list[str]:
    """Return the types of blocks."""
    return [block["type"] for block in blocks]
