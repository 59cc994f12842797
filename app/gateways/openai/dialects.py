"""Vendors that write parts of OpenAI's chat in other forms: Mistral, Text Generation Inference.

Source: Mistral's ChatCompletionRequest, TGI's ChatRequest; docs/vendors.md.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import AudioPart, FilePart, Part
from app.vocabulary.chat.request import ResponseFormat


class Dialect:
    """OpenAI's own forms; the others change some of them."""

    def part(self, part: Part) -> Mapping[str, Any]:
        """Return the part of a message's content, as the vendor writes it."""
        return part.source

    def assistant(self, message: Message, body: dict[str, Any]) -> None:
        """Change the body of an assistant's message into the vendor's form."""

    def response_format(self, asked: ResponseFormat, source: Any) -> Any:  # noqa: ARG002 - overrides do
        """Return the response format, as the vendor writes it; `source` is as the caller did."""
        return source


class Mistral(Dialect):
    """Sound is a text, files have their own parts, and reasoning is a part of the content."""

    def part(self, part: Part) -> Mapping[str, Any]:
        if isinstance(part, AudioPart):
            return {"type": "input_audio", "input_audio": part.data}
        if isinstance(part, FilePart) and part.data is not None:
            name = {"document_name": part.filename} if part.filename else {}
            return {"type": "document_url", "document_url": part.data, **name}
        if isinstance(part, FilePart) and part.file_id is not None:
            return {"type": "file", "file_id": part.file_id}
        return part.source

    def assistant(self, message: Message, body: dict[str, Any]) -> None:
        thoughts = list(_thoughts(message))
        if not thoughts:
            return
        content = body.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}] if content else []
        body["content"] = [*thoughts, *(content or [])]


def _thoughts(message: Message) -> Iterator[dict[str, Any]]:
    """Yield the reasoning of an earlier reply as parts: those with signatures, or its text."""
    signed = message.source.get("thinking_blocks")
    blocks = [b for b in signed if isinstance(b, dict)] if isinstance(signed, list) else []
    if not blocks and message.reasoning:
        blocks = [{"thinking": message.reasoning}]
    for block in blocks:
        if isinstance(text := block.get("thinking"), str):
            signature = {"signature": block["signature"]} if block.get("signature") else {}
            parts = [{"type": "text", "text": text}]
            yield {"type": "thinking", "thinking": parts, **signature}


class TGI(Dialect):
    """A schema is the format's `value`; content beside calls, even if empty, hides the calls."""

    def assistant(self, message: Message, body: dict[str, Any]) -> None:
        if message.tool_calls and not message.text:
            body["content"] = None

    def response_format(self, asked: ResponseFormat, source: Any) -> Any:
        if asked.schema is None:
            return source
        name = {"name": asked.name} if asked.name else {}
        return {"type": asked.type, "value": {**name, "schema": asked.schema}}


#: `quirks.chat.dialect` -> the forms.
DIALECTS: Mapping[str, Dialect] = {"mistral": Mistral(), "tgi": TGI()}

OPENAI = Dialect()
