"""Chats with Cohere: requests that the official SDK's types and the simulator's rules read."""

from typing import Any

from tests.gateways.chat_rows import ChatRow
from tests.support.vendor import Asked
from tests.support.vendors.chat.cohere import CohereChat
from tests.support.vendors.cohere import typed_event

COHERE = ChatRow("cohere", {"CO_API_KEY": "sk-test"})

#: A model that reasons, and one that does not.
REASONING, PLAIN = "command-a-reasoning-08-2025", "command-a-03-2025"

HEADERS = {"authorization": "Bearer sk-test"}


def sent(messages: Any = "hi", model: str = PLAIN, **fields: Any) -> dict[str, Any]:
    """Return the body that Cohere gets and takes."""
    body = COHERE.sent(model, messages, **fields)
    refusal = CohereChat().check(Asked("/v2/chat", HEADERS, body, 1))
    assert refusal is None, refusal.body
    return body


def refused(messages: Any = "hi", model: str = PLAIN, **fields: Any) -> str | None:
    return COHERE.refused(model, messages, **fields)


def call_start(index: float | None, call_id: str, name: str, arguments: str = "") -> bytes:
    function = {"name": name, "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    return call_event("tool-call-start", index, call)


def call_delta(index: float | None, arguments: str) -> bytes:
    return call_event("tool-call-delta", index, {"function": {"arguments": arguments}})


def call_event(kind: str, index: float | None, call: Any) -> bytes:
    at = {} if index is None else {"index": index}
    return typed_event({"type": kind, **at, "delta": {"message": {"tool_calls": call}}})


def event(kind: str, **message: Any) -> bytes:
    """Return an event with a piece of the message."""
    return typed_event({"type": kind, "index": 0, "delta": {"message": message}})
