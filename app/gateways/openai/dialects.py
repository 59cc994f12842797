"""Vendors that write parts of OpenAI's chat in other forms: Mistral, SGLang, TGI.

Source: Mistral's ChatCompletionRequest and the rules of its mistral-common, SGLang's protocol, the
ChatRequest of Text Generation Inference; docs/vendors.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.gateways.conversation.omissions import unsupported
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import AudioPart, FilePart, Part
from app.vocabulary.chat.request import ResponseFormat

#: The roles of instructions.
INSTRUCTIONS = ("system", "developer")


class Dialect:
    """OpenAI's own forms; the others change some of them."""

    def ordered(self, vendor: Vendor, messages: Sequence[Message]) -> Sequence[Message]:  # noqa: ARG002 - overrides do
        """Return a conversation in the order that the vendor takes.

        Raises: UnsupportedParameter if it takes none.
        """
        return messages

    def part(self, part: Part) -> Mapping[str, Any]:
        """Return the part of a message's content, as the vendor writes it."""
        return part.source

    def assistant(self, message: Message, body: dict[str, Any]) -> None:
        """Change the body of an assistant's message into the vendor's form."""

    def response_format(self, asked: ResponseFormat, source: Any) -> Any:  # noqa: ARG002 - overrides do
        """Return the response format, as the vendor writes it; `source` is as the caller did."""
        return source


class Mistral(Dialect):
    """Sound is a text, files have their own parts, and reasoning is a part of the content.

    Mistral rejects instructions after an assistant, after a tool's result and at the end: they join
    the first ones. It continues a message of the assistant only if that has `prefix`.
    """

    def ordered(self, vendor: Vendor, messages: Sequence[Message]) -> Sequence[Message]:
        placed = _with_early_instructions(messages)
        last = placed[-1]
        if last.role == "assistant" and last.source.get("prefix") is not True:
            hint = "a conversation ends with a user or with results, or the message has `prefix`"
            raise unsupported(vendor, last.path, hint)
        return placed

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


def _with_early_instructions(messages: Sequence[Message]) -> Sequence[Message]:
    """Return a conversation whose instructions come at the start, or directly after a user."""
    spoken = [at for at, it in enumerate(messages) if it.role not in INSTRUCTIONS]
    if not spoken:
        return messages
    first, last = spoken[0], spoken[-1]
    early, rest, before = list(messages[:first]), list[Message](), "user"
    for at, message in enumerate(messages[first:], first):
        if message.role not in INSTRUCTIONS:
            before = message.role
        is_early = message.role in INSTRUCTIONS and (before != "user" or at > last)
        (early if is_early else rest).append(message)
    return [*early, *rest]


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


class SGLang(Dialect):
    """A sound is a URL."""

    def part(self, part: Part) -> Mapping[str, Any]:
        if isinstance(part, AudioPart):
            url = f"data:audio/{part.format};base64,{part.data}"
            return {"type": "audio_url", "audio_url": {"url": url}}
        return part.source


#: `quirks.chat.dialect` -> the forms.
DIALECTS: Mapping[str, Dialect] = {"mistral": Mistral(), "sglang": SGLang(), "tgi": TGI()}

OPENAI = Dialect()
