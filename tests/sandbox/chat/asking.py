"""Requests to the sandbox's chat."""

from typing import Any

import pytest

from app.sandbox.chat.request import ChatEchoRequest, load_chat
from app.sandbox.errors import SandboxError

USER = {"role": "user", "content": "the weather in Rome"}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city", "days"],
}


def function(name: str, parameters: Any = None) -> dict[str, Any]:
    """Return a tool that is a function."""
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def called(*ids: str, name: str = "f") -> dict[str, Any]:
    """Return an assistant's message that calls a tool once for each id."""
    made = {"name": name, "arguments": "{}"}
    calls = [{"id": it, "type": "function", "function": made} for it in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, text: str = "sunny") -> dict[str, Any]:
    """Return the message with a call's result."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def load(**fields: Any) -> ChatEchoRequest:
    """Load a request."""
    return load_chat({"model": "echo", "messages": [USER], **fields})


def refused(**fields: Any) -> str | None:
    """Return the param with which a request is rejected; it must be."""
    with pytest.raises(SandboxError) as caught:
        load(**fields)
    assert caught.value.status == 400
    return caught.value.param
