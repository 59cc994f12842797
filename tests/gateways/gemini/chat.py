"""Chats with Google's models: rows, answers, and requests read back by the official SDK's types."""

import json
from collections.abc import Iterable
from typing import Any

from google.genai import types
from pydantic import BaseModel

from app.vocabulary.completion import Choice
from tests.gateways.chat_rows import ChatRow
from tests.gateways.gemini.wire import candidate, event, response

GEMINI = ChatRow("gemini", {"GEMINI_API_KEY": "sk-test"})
VERTEX = ChatRow("vertex_ai", {"GOOGLE_CLOUD_PROJECT": "acme"})

#: A model with levels, ids and signatures, and one with budgets.
NEW, OLD = "gemini-3-flash-preview", "gemini-2.5-flash"

#: Fields of a request -> the SDK's types of them.
FIELDS: dict[str, type[BaseModel]] = {
    "contents": types.Content,
    "generationConfig": types.GenerationConfig,
    "systemInstruction": types.Content,
    "toolConfig": types.ToolConfig,
    "tools": types.Tool,
}

PIXEL = "iVBORw0KGgo="


def read_back(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body after the SDK's types have read it, which refuse unknown fields."""
    for name, value in body.items():
        if name in ("labels", "serviceTier"):
            continue
        for item in value if isinstance(value, list) else [value]:
            FIELDS[name].model_validate(item)
    return body


def sent(model: str, messages: Any = "hi", *, row: ChatRow = GEMINI, **fields: Any) -> Any:
    """Return the body that Google gets."""
    return read_back(row.sent(model, messages, **fields))


def contents(messages: Any, model: str = NEW, **fields: Any) -> Any:
    """Return the contents that Google gets."""
    return sent(model, messages, **fields)["contents"]


def config(model: str = NEW, row: ChatRow = GEMINI, **fields: Any) -> Any:
    """Return the `generationConfig` that Google gets."""
    return sent(model, row=row, **fields).get("generationConfig", {})


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def call(call_id: str, name: str = "get", arguments: str = "{}", **extra: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **extra}


def calls(*made: Any, content: Any = None, **extra: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(made), **extra}


def result(call_id: str, content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def tool(name: str = "f", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def signed(signature: str) -> dict[str, Any]:
    return {"extra_content": {"google": {"thought_signature": signature}}}


def answered(*parts: Any, finish: str = "STOP", model: str = NEW, **more: Any) -> Choice:
    """Return the one choice of a whole answer with these parts."""
    (choice,) = GEMINI.decoded(response(candidate(*parts, finish=finish), **more), model).choices
    return choice


def streamed(*events: Iterable[Any], finish: str = "STOP", last: Any = None) -> list[bytes]:
    """Return a stream of events with these parts, and an end without any."""
    pieces = [event(response(candidate(*parts, finish=None))) for parts in events]
    end = response({"finishReason": finish, "content": {"role": "model"}}, **(last or {}))
    return [*pieces, event(end)]


def function_call(name: str, signature: str | None = None, **call: Any) -> dict[str, Any]:
    """Return a part with a call, as Google sends it."""
    kept = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, **call}, **kept}


def arguments_of(choice: Choice) -> list[Any]:
    """Return the arguments of a choice's calls as JSON."""
    reply = choice.reply
    return [json.loads(made.arguments) for made in reply.tool_calls] if reply else []
