"""Chat requests as values, and a vendor entry's chat gateway under test."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from app.gateways.base import ChatGateway
from app.gateways.families import GATEWAY_SPECS, GATEWAYS
from app.vendors.table import load_vendors
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import AudioPart, FilePart, ImagePart, Part, RefusalPart, TextPart
from app.vocabulary.chat.reply import Reply, merged
from app.vocabulary.chat.request import ChatRequest, ResponseFormat
from app.vocabulary.chat.tools import Tool, ToolCall, ToolChoice
from app.vocabulary.completion import Choice, Completion, Usage
from app.vocabulary.errors import GatewayError, InvalidRequest
from app.vocabulary.vendor_request import VendorRequest
from tests.gateways.reading import chunks_of, cut, decode

Source = Mapping[str, Any]

#: Fields of a request that are no options of the contract.
_BESIDE = ("extra", "stream", "stream_options")


class ChatRow:
    """One vendor's chat gateway, with the built-in entry, `keys` over it and the environment."""

    def __init__(self, name: str, env: Mapping[str, str], **keys: Any) -> None:
        found = load_vendors(None, dict(env), GATEWAY_SPECS).find(name)
        fields = {field: getattr(found, field) for field in found.__dataclass_fields__}
        self.vendor = Vendor(**(fields | keys))
        gateway = GATEWAYS[found.gateway].chat
        assert gateway is not None
        self.gateway: ChatGateway = gateway

    def asks(self, model: str, messages: Any = "hi", **fields: Any) -> ChatRequest:
        """Return a request of this vendor's model; a text is one message of a user."""
        return asked(f"{self.vendor.name}/{model}", messages, **fields)

    def encoded(self, model: str, messages: Any = "hi", **fields: Any) -> VendorRequest:
        """Return the request that the vendor gets."""
        return self.gateway.encode(self.vendor, self.asks(model, messages, **fields))

    def sent(self, model: str, messages: Any = "hi", **fields: Any) -> dict[str, Any]:
        """Return the body that the vendor gets."""
        return dict(json.loads(self.encoded(model, messages, **fields).body))

    def refused(self, model: str, messages: Any = "hi", **fields: Any) -> str | None:
        """Return the path that a refusal of a request names."""
        with pytest.raises(InvalidRequest) as caught:
            self.encoded(model, messages, **fields)
        assert caught.value.param is None or caught.value.param in caught.value.message
        return caught.value.param

    def decoded(self, body: Any, model: str = "m", **fields: Any) -> Completion:
        """Return what becomes of a whole answer, given as JSON or bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return decode(self.gateway, self.vendor, self.asks(model, **fields), raw)

    def chunks(
        self, stream: Iterable[bytes], size: int | None = None, model: str = "m", **fields: Any
    ) -> list[Completion]:
        """Return the chunks of a stream, which comes in packets of `size` bytes or all at once."""
        request = self.asks(model, stream=True, **fields)
        return chunks_of(self.gateway, self.vendor, request, cut(b"".join(stream), size))

    def broken(self, stream: Iterable[bytes], **fields: Any) -> GatewayError:
        """Return the error that a stream ends in."""
        with pytest.raises(GatewayError) as caught:
            self.chunks(stream, **fields)
        return caught.value


def joined(chunks: Iterable[Completion]) -> tuple[Choice, Usage | None]:
    """Return the one choice of a stream as a whole one would be, and its last usage."""
    choices: list[Choice] = []
    usage = None
    for chunk in chunks:
        usage = chunk.usage or usage
        choices += chunk.choices
    reasons = [choice.finish_reason for choice in choices if choice.finish_reason]
    assert len(reasons) == 1
    assert {choice.index for choice in choices} == {0}
    reply = merged(choice.reply for choice in choices if choice.reply is not None)
    return Choice(0, "".join(c.text for c in choices), reasons[0], reply=reply), usage


def reply_of(choice: Choice) -> Reply:
    """Return a choice's reply, which may be empty."""
    return choice.reply or Reply()


def message_of(choice: Choice) -> dict[str, Any]:
    """Return a choice's message as a client sends it back."""
    reply = reply_of(choice)
    calls = [
        {
            "id": call.id,
            "type": call.type,
            "function": {"name": call.name, "arguments": call.arguments},
            **(call.extra or {}),
        }
        for call in reply.tool_calls
    ]
    return {
        "role": "assistant",
        "content": choice.text or None,
        "refusal": reply.refusal or None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        **({"reasoning_content": reply.reasoning} if reply.reasoning else {}),
        **({"tool_calls": calls} if calls else {}),
        **(reply.extra or {}),
    }


def asked(model: str, messages: Any, **fields: Any) -> ChatRequest:
    """Return a request as the API makes it of a caller's body."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    beside: dict[str, Any] = {name: fields.pop(name) for name in _BESIDE if name in fields}
    beside |= {name: fields.get(name) for name in ("n", "seed", "stop", "user")}
    limit = fields.pop("max_completion_tokens", fields.get("max_tokens"))
    options = {**fields, **({} if limit is None else {"max_tokens": limit})}
    return ChatRequest(
        model=model,
        messages=tuple(_message(at, source) for at, source in enumerate(messages)),
        tools=tuple(_tool(at, source) for at, source in enumerate(fields.get("tools") or [])),
        tool_choice=_choice(fields.get("tool_choice")),
        response_format=_format(fields.get("response_format")),
        max_tokens=limit,
        options=options,
        **beside,
    )


def _message(at: int, source: Source) -> Message:
    path = f"messages[{at}]"
    content = source.get("content")
    if isinstance(content, str):
        parts: list[Part] = [TextPart(text=content, source=source, path=f"{path}.content")]
    else:
        parts = [_part(f"{path}.content[{at}]", it) for at, it in enumerate(content or [])]
    return Message(
        role=source["role"],
        path=path,
        source=source,
        parts=tuple(parts),
        name=source.get("name"),
        tool_calls=tuple(_call(at, it) for at, it in enumerate(source.get("tool_calls") or [])),
        tool_call_id=source.get("tool_call_id"),
    )


def _part(path: str, source: Source) -> Part:
    given: dict[str, Any] = {"source": source, "path": path}
    match source["type"]:
        case "text":
            return TextPart(text=source["text"], **given)
        case "refusal":
            return RefusalPart(text=source["refusal"], **given)
        case "image_url":
            image = source["image_url"]
            return ImagePart(url=image["url"], detail=image.get("detail"), **given)
        case "input_audio":
            return AudioPart(**source["input_audio"], **given)
        case "file":
            file = source["file"]
            names = {"data": file.get("file_data"), "file_id": file.get("file_id")}
            return FilePart(**names, filename=file.get("filename"), **given)
        case other:
            return Part(type=other, **given)


def _call(at: int, source: Source) -> ToolCall:
    if source.get("type") == "custom":
        custom = source["custom"]
        return ToolCall(at, source["id"], custom["name"], custom["input"], "custom")
    called = source["function"]
    extra = {k: v for k, v in source.items() if k not in ("id", "type", "function", "index")}
    return ToolCall(at, source["id"], called["name"], called["arguments"], extra=extra or None)


def _tool(at: int, source: Source) -> Tool:
    given: dict[str, Any] = {"type": source["type"], "path": f"tools[{at}]", "source": source}
    if source["type"] != "function":
        return Tool(**given)
    names = ("name", "description", "parameters", "strict")
    return Tool(**given, **{name: source["function"].get(name) for name in names})


def _choice(source: Any) -> ToolChoice | None:
    if source is None:
        return None
    if isinstance(source, str):
        return ToolChoice(source)  # type: ignore[arg-type]
    if source["type"] == "allowed_tools":
        allowed = source["allowed_tools"]
        names = tuple(tool["function"]["name"] for tool in allowed["tools"])
        return ToolChoice("allowed", names, allowed["mode"] == "required")
    return ToolChoice("named", (source["function"]["name"],))


def _format(source: Any) -> ResponseFormat | None:
    return ResponseFormat(source["type"], **source.get("json_schema", {})) if source else None
