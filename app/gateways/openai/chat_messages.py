"""The messages of a chat request for an OpenAI-compatible vendor: as the caller wrote them.

What comes back from earlier replies is put into the form that the vendor accepts: ids of calls,
reasoning, and fields that only replies have. Nothing is added, and no message is left out, except
an assistant's without anything, where the vendor rejects one.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from app.gateways.conversation.turns import SPOKEN
from app.gateways.openai.chat_quirks import ways_of
from app.gateways.openai.dialects import DIALECTS, OPENAI
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import ImagePart, Part, RefusalPart, TextPart
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter

#: Fields of replies that the contract's requests do not have. A vendor's `replays` names those
#: that it accepts.
REPLIED = frozenset(
    {
        "annotations",
        "citations",
        "content_parts",
        "extra_content",
        "images",
        "provider_specific_fields",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "thinking_blocks",
    }
)

#: Fields that official clients add to a reply's message and to its calls.
CLIENTS = frozenset({"parsed"})
CLIENTS_IN_CALL = frozenset({"index"})
CLIENTS_IN_FUNCTION = frozenset({"parsed_arguments"})

#: The names of the reasoning text; the first is the one that callers get.
REASONING = ("reasoning_content", "reasoning")

CACHE_MARK = "cache_control"


class MessageWriter:
    """Writes the messages of one request. `dropped` names what has been left out."""

    def __init__(self, vendor: Vendor, unsupported: frozenset[str]) -> None:
        self.dropped: set[str] = set()
        self._vendor = vendor
        self._has_functions = "functions" not in unsupported
        ways = ways_of(vendor)
        self._ways = ways
        self._dialect = DIALECTS.get(ways.get("dialect", ""), OPENAI)
        replays = ways.get("replays")
        self._stripped = frozenset() if replays is None else REPLIED.difference(replays)
        self._call_ids: Mapping[str, Any] | None = ways.get("call_ids")

    def write(self, request: ChatRequest) -> list[Mapping[str, Any]]:
        """Return the messages' bodies.

        Raises: UnsupportedParameter, InvalidRequest.
        """
        takes_empty = self._ways.get("empty_replies", True)
        spoken = [it for it in request.messages if takes_empty or not _is_empty(it)]
        ordered = self._dialect.ordered(self._vendor, spoken or request.messages)
        return [self._message(it) for it in ordered]

    def _message(self, message: Message) -> Mapping[str, Any]:
        source = message.source
        is_plain = len(source) == 2 and message.role in ("user", "system", "assistant")
        if is_plain and isinstance(source.get("content"), str):
            return source
        body = {n: v for n, v in source.items() if v is not None or n == "content"}
        if message.role == "developer" and not self._ways.get("developer"):
            body["role"] = "system"
        if not self._has_functions and (message.role == "function" or "function_call" in body):
            where = "role" if message.role == "function" else "function_call"
            raise self._unsupported(f"{message.path}.{where}", "Use `tools` instead.")
        if self._ways.get("names") is False and message.role != "tool" and "name" in body:
            del body["name"]
            self.dropped.add("name")
        if isinstance(body.get("content"), list):
            body["content"] = self._content(message)
        if message.role == "assistant":
            self._assistant(message, body)
        elif message.tool_call_id is not None and "tool_call_id" in body:
            body["tool_call_id"] = self._call_id(message.tool_call_id)
        return self._unmarked(body)

    def _assistant(self, message: Message, body: dict[str, Any]) -> None:
        """Put an earlier reply into the form that the vendor accepts."""
        for name in CLIENTS | self._stripped:
            body.pop(name, None)
        if self._stripped and message.reasoning is not None:
            for name in REASONING:
                if name not in self._stripped:
                    body[name] = message.reasoning
        if self._ways.get("refusals") is False:
            _put_refusal(body)
        if message.tool_calls:
            calls = message.source.get("tool_calls")
            body["tool_calls"] = [self._call(call) for call in calls or ()]
            body.setdefault("content", None)
            if self._ways.get("needs_reasoning"):
                body.setdefault(REASONING[0], "")
        else:
            body.pop("tool_calls", None)
        self._dialect.assistant(message, body)

    def _call(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an earlier call; the text of its arguments is never parsed."""
        gone = CLIENTS_IN_CALL | self._stripped
        body = {n: v for n, v in call.items() if v is not None and n not in gone}
        if isinstance(body.get("id"), str):
            body["id"] = self._call_id(body["id"])
        if isinstance(function := body.get("function"), dict):
            kept = {
                n: v for n, v in function.items() if v is not None and n not in CLIENTS_IN_FUNCTION
            }
            body["function"] = {**kept, "arguments": kept.get("arguments") or "{}"}
        return self._unmarked(body)

    def _call_id(self, call_id: str) -> str:
        """Return an id in the vendor's form; the same for a call and its result, at every turn."""
        form = self._call_ids
        if form is None or re.fullmatch(form["pattern"], call_id):
            return call_id
        return hashlib.sha256(call_id.encode()).hexdigest()[: form["length"]]

    def _content(self, message: Message) -> str | list[Mapping[str, Any]]:
        """Return a message's parts; texts alone as one string, if the vendor takes no list."""
        texts = [part.text for part in message.parts if isinstance(part, TextPart)]
        if self._ways.get("text_parts") is False and len(texts) == len(message.parts):
            return "\n".join(texts)
        return [self._part(part) for part in message.parts]

    def _part(self, part: Part) -> Mapping[str, Any]:
        if isinstance(part, RefusalPart) and self._ways.get("refusals") is False:
            return {"type": "text", "text": part.text}
        accepted = self._ways.get("parts")
        if accepted is not None and part.type not in accepted:
            listed = ", ".join(f"`{name}`" for name in accepted)
            raise self._unsupported(f"{part.path}.type", f"It accepts {listed}.", part.type)
        if isinstance(part, ImagePart):
            self._check_detail(part)
        is_elsewhere = isinstance(part, ImagePart) and not part.url.startswith("data:")
        if is_elsewhere and self._ways.get("image_urls") is False:
            raise InvalidRequest(
                f"The vendor `{self._vendor.name}` accepts images only as `data:` URLs.",
                param=f"{part.path}.image_url.url",
            )
        return self._unmarked(self._dialect.part(part))

    def _check_detail(self, part: ImagePart) -> None:
        known = self._ways.get("details")
        if known is not None and part.detail is not None and part.detail not in known:
            path = f"{part.path}.image_url.detail"
            raise self._unsupported(path, f"It knows {', '.join(known)}.", part.detail)

    def _unmarked(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a body without its cache mark, unless the vendor knows it."""
        return unmarked(self._ways, body, self.dropped)

    def _unsupported(self, path: str, hint: str, value: str | None = None) -> UnsupportedParameter:
        what = f"`{path}`" if value is None else f"{value[:64]!r} as `{path}`"
        return UnsupportedParameter(
            f"The vendor `{self._vendor.name}` does not support {what}. {hint}", param=path
        )


def _put_refusal(body: dict[str, Any]) -> None:
    """Put a message's refusal into its content, as text."""
    refusal, content = body.pop("refusal", None), body.get("content")
    if not isinstance(refusal, str) or not refusal:
        return
    if isinstance(content, list):
        body["content"] = [*content, {"type": "text", "text": refusal}]
    else:
        body["content"] = f"{content}\n{refusal}" if content else refusal


def _is_empty(message: Message) -> bool:
    """Whether a message is an assistant's that says nothing and calls nothing."""
    if message.role != "assistant" or message.tool_calls or message.reasoning:
        return False
    is_silent = all(isinstance(part, TextPart) and not part.text for part in message.parts)
    return is_silent and not any(message.source.get(name) for name in SPOKEN)


def unmarked(
    ways: Mapping[str, Any], body: Mapping[str, Any], dropped: set[str]
) -> Mapping[str, Any]:
    """Return a part, message or tool without its cache mark, unless the vendor knows it."""
    if CACHE_MARK not in body or ways.get("cache_control"):
        return body
    if body[CACHE_MARK] is not None:
        dropped.add(CACHE_MARK)
    return {name: value for name, value in body.items() if name != CACHE_MARK}
