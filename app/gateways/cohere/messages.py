"""Messages as Cohere's: they keep their order, and instructions their places.

- `developer` is `system`. Blank texts are left out, and assistant's messages without anything.
- Before calls, the text of an assistant is its `tool_plan`; otherwise, it is the content.
- Reasoning text goes back as a block of thinking, to models that reason. It has no signature.
- Arguments of calls stay the text that they are; a blank one means none.
- A result without text is one empty part: Cohere refuses content without anything.
- A conversation ends with a user or with results: Cohere continues no message.
"""

from typing import Any

from app.gateways.conversation.media import image_of, unsupported_part
from app.gateways.conversation.omissions import Omissions, unsupported
from app.gateways.conversation.tools import check_calls
from app.gateways.conversation.turns import conversation, solid_parts
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import ImagePart, Part, TextPart
from app.vocabulary.chat.request import ChatRequest

#: Source: docs.cohere.com, image inputs.
IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")

DETAILS = (None, "auto", "low", "high")


def encode_messages(
    vendor: Vendor, request: ChatRequest, omissions: Omissions, *, reasons: bool
) -> list[dict[str, Any]]:
    """Return the messages; `reasons`: the model takes reasoning text.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    check_calls(vendor, request.messages)
    conversation(vendor, request.messages, omissions)  # for what it refuses
    last = request.messages[-1]
    if last.role == "assistant":
        raise unsupported(vendor, last.path, "a conversation ends with a user or with results")
    encoded = (_message(vendor, message, reasons) for message in request.messages)
    return [message for message in encoded if message]


def _message(vendor: Vendor, message: Message, reasons: bool) -> dict[str, Any]:
    """Return a message; {} if it holds nothing."""
    match message.role:
        case "assistant":
            return _assistant(message, reasons)
        case "tool":
            texts = [_text(vendor, part) for part in message.parts]
            content = _content(texts) if message.text else [{"type": "text", "text": ""}]
            return {"role": "tool", "tool_call_id": message.tool_call_id, "content": content}
        case "user":
            parts = [_part(vendor, part) for part in solid_parts(message)]
            return {"role": "user", "content": _content(parts)}
    parts = [_text(vendor, part) for part in solid_parts(message)]
    return {"role": "system", "content": _content(parts)} if parts else {}


def _assistant(message: Message, reasons: bool) -> dict[str, Any]:
    refusal = message.source.get("refusal")
    texts = [part.text for part in solid_parts(message) if isinstance(part, TextPart)]
    if not texts and isinstance(refusal, str) and refusal:
        texts = [refusal]
    thought = message.reasoning if reasons else None
    content: list[dict[str, Any]] = [{"type": "thinking", "thinking": thought}] if thought else []
    told: dict[str, Any] = {"role": "assistant"}
    if message.tool_calls:
        told["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments.strip() or "{}"},
            }
            for call in message.tool_calls
        ]
        if texts:
            told["tool_plan"] = "".join(texts)
    elif not texts:
        return {}
    else:
        content += [{"type": "text", "text": text} for text in texts]
    return {**told, **({"content": _content(content)} if content else {})}


def _content(parts: list[dict[str, Any]]) -> Any:
    """Return content: a text alone as a string, others as they are."""
    is_text = len(parts) == 1 and parts[0]["type"] == "text"
    return parts[0]["text"] if is_text else parts


def _text(vendor: Vendor, part: Part) -> dict[str, Any]:
    if not isinstance(part, TextPart):
        raise unsupported_part(vendor, part)
    return {"type": "text", "text": part.text}


def _part(vendor: Vendor, part: Part) -> dict[str, Any]:
    if not isinstance(part, ImagePart):
        return _text(vendor, part)
    media = image_of(vendor, part, IMAGES)
    url = part.url if media is None else f"data:{media.type};base64,{media.data}"
    if part.detail not in DETAILS:
        hint = "it takes auto, low and high"
        raise unsupported(vendor, f"{part.path}.image_url.detail", hint)
    detail = {} if part.detail is None else {"detail": part.detail}
    return {"type": "image_url", "image_url": {"url": url, **detail}}
