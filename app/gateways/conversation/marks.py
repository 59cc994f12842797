"""The caller's cache marks: `cache_control` of parts, messages, tools and calls.

OpenAI's own `prompt_cache_breakpoint` is such a mark, too. It lives for 30 minutes or longer, for
which these formats have an hour.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.gateways.conversation.omissions import CACHE_HINTS, Omissions
from app.gateways.conversation.turns import solid_parts
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import Part
from app.vocabulary.chat.request import ChatRequest

#: A cache mark, e.g. {"type": "ephemeral", "ttl": "1h"}; None if there is none.
Mark = Mapping[str, Any] | None

#: What `prompt_cache_breakpoint` means.
BREAKPOINT: Mark = {"type": "ephemeral", "ttl": "1h"}


def mark_of(source: Mapping[str, Any]) -> Mark:
    """Return the mark in an object as the caller wrote it."""
    mark = source.get("cache_control")
    if isinstance(mark, dict):
        return mark
    return BREAKPOINT if isinstance(source.get("prompt_cache_breakpoint"), dict) else None


def marked_parts(message: Message) -> list[tuple[Part, Mark]]:
    """Return a message's parts that are not blank, each with its mark.

    A mark of the message itself belongs to its last part.
    """
    parts = [(part, mark_of(part.source)) for part in solid_parts(message)]
    if parts and (mark := mark_of(message.source)) is not None:
        parts[-1] = parts[-1][0], mark
    return parts


def result_parts(message: Message) -> list[tuple[Part, Mark]]:
    """Return the parts of a tool's message, each with its mark.

    A mark of the message itself belongs to the result as a whole, as `mark_of` returns it.
    """
    return [
        (part, None if part.source is message.source else mark_of(part.source))
        for part in solid_parts(message)
    ]


def leave_out_marks(request: ChatRequest, omissions: Omissions) -> None:
    """Note the caller's cache marks and hints, for a format that has none."""
    for name in sorted(CACHE_HINTS & request.options.keys()):
        omissions.leave_out_hint(name)
    if any(mark_of(source) is not None for source in _sources(request)):
        omissions.leave_out_hint("cache_control")


def _sources(request: ChatRequest) -> Iterator[Mapping[str, Any]]:
    """Yield all objects that may have a mark, as the caller wrote them."""
    for tool in request.tools:
        yield tool.source
    for message in request.messages:
        yield message.source
        for part in message.parts:
            yield part.source
        for call in message.tool_calls:
            yield call.extra or {}
