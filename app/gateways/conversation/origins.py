"""Marks of origin: which vendor has signed what an assistant's message brings back.

Vendors sign their reasoning, and most reject a signature that is not theirs. After a failover, or
if a client goes on with another model, a message comes back to a vendor that has not signed it. So
a reply with signatures has its issuer in `extra_content.tollgate.issuer`, and a message goes to
another issuer without its signatures. A message without a mark keeps its signatures: some clients
drop the mark. If the vendor rejects those, the request is repeated without any.

Google's signatures are bound to the API that has made them. Claude's are valid at all vendors of
Claude, by Anthropic's reference: blocks of another account or model are ignored there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from marshmallow import fields

from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.errors import VendorRejected

#: The `quirks` key of an entry whose signatures other entries accept: a name that they share.
SIGNATURES = fields.String()

#: The field of a message, a call or an image that has the signature of its part.
SIGNED_PART = "extra_content"

#: The fields of a message in which vendors sign.
SIGNED = (SIGNED_PART, "thinking_blocks", "reasoning_details")

#: The key of the mark in the message's `extra_content`.
MARK = "tollgate"

#: The issuer of signatures that a vendor has rejected.
NOBODY = ""


def issuer_of(vendor: Vendor) -> str:
    """Return the name of those whose signatures an entry accepts: by default, its own."""
    issuer: str = vendor.quirks.get("signatures", vendor.name)
    return issuer


def marked(extra: Mapping[str, Any], issuer: str) -> dict[str, Any]:
    """Return a reply's extra fields with the mark of its issuer."""
    held = extra.get(SIGNED_PART)
    beside = held if isinstance(held, dict) else {}
    return {**extra, SIGNED_PART: {**beside, MARK: {"issuer": issuer}}}


def is_signed(reply: Reply) -> bool:
    """Whether a reply, or a delta of one, has a signature that a vendor may want back."""
    extra = reply.extra
    if extra is not None and any(extra.get(name) for name in SIGNED):
        return True
    return any(call.extra is not None and SIGNED_PART in call.extra for call in reply.tool_calls)


def own_signatures(issuer: str, request: ChatRequest) -> tuple[ChatRequest, tuple[str, ...]]:
    """Return a request without marks and without the signatures of other issuers.

    Returns the names of the fields that were left out, too.
    """
    for message in request.messages:
        if SIGNED_PART in message.source:
            break
    else:
        return request, ()  # the usual request
    kept: list[Message] = []
    dropped: dict[str, None] = {}
    for message in request.messages:
        mark = _mark_of(message)
        if mark is None:
            kept.append(message)
        elif mark == {"issuer": issuer}:
            kept.append(_unmarked(message))
        else:
            dropped |= dict.fromkeys(_signed_fields(message))
            kept.append(_unsigned(message))
    return replace(request, messages=tuple(kept)), tuple(dropped)


def disowned(request: object, error: VendorRejected) -> ChatRequest | None:
    """Return a request whose signatures are nobody's, after a vendor has rejected one of them.

    None if that is not what the error means, or if the request has no signatures.
    """
    words = error.message.lower()
    is_signature = "signature" in words and ("thinking" in words or "thought" in words)
    is_about = is_signature or "redacted_thinking" in words
    if not is_about or not isinstance(request, ChatRequest):
        return None
    messages = tuple([_nobodys(message) for message in request.messages])
    if all(new is old for new, old in zip(messages, request.messages, strict=True)):
        return None
    return replace(request, messages=messages)


def _mark_of(message: Message) -> Any:
    held = message.source.get(SIGNED_PART)
    return held.get(MARK) if isinstance(held, dict) else None


def _nobodys(message: Message) -> Message:
    """Return a message with signatures as marked for nobody; the same one if it has none."""
    mark = {"issuer": NOBODY}
    if message.role != "assistant" or _mark_of(message) == mark:
        return message
    if not any(_signed_fields(message)):
        return message
    return replace(message, source=marked(message.source, NOBODY))


def _signed_fields(message: Message) -> Iterable[str]:
    """Yield the names of the fields of a message that hold signatures."""
    for name in SIGNED:
        value = message.source.get(name)
        if name == SIGNED_PART and isinstance(value, dict):
            value = {key: inner for key, inner in value.items() if key != MARK}
        if value:
            yield name
    if any((call.extra or {}).get(SIGNED_PART) for call in message.tool_calls) or any(
        isinstance(image, dict) and image.get(SIGNED_PART) for image in _images(message)
    ):
        yield SIGNED_PART


def _images(message: Message) -> list[Any]:
    images = message.source.get("images")
    return images if isinstance(images, list) else []


def _unmarked(message: Message) -> Message:
    held = {key: value for key, value in message.source[SIGNED_PART].items() if key != MARK}
    source = {name: value for name, value in message.source.items() if name != SIGNED_PART}
    return replace(message, source={**source, SIGNED_PART: held} if held else source)


def _unsigned(message: Message) -> Message:
    """Return a message without its signatures, in its typed fields, too."""
    source = {name: value for name, value in message.source.items() if name not in SIGNED}
    for name in ("tool_calls", "images"):
        if isinstance(items := source.get(name), list):
            source[name] = [_without(item) for item in items]
    calls = tuple([_unsigned_call(call) for call in message.tool_calls])
    return replace(message, source=source, tool_calls=calls)


def _unsigned_call(call: ToolCall) -> ToolCall:
    return replace(call, extra=_without(call.extra) or None) if call.extra else call


def _without(holder: Any) -> Any:
    """Return an object without the signature of its part."""
    if not isinstance(holder, Mapping) or SIGNED_PART not in holder:
        return holder
    return {name: value for name, value in holder.items() if name != SIGNED_PART}
