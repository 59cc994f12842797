"""The caller's cache marks: `cache_control` of parts, messages, tools and calls."""

from collections.abc import Mapping
from typing import Any

from app.gateways.conversation.turns import solid_parts
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import Part

#: A cache mark, e.g. {"type": "ephemeral", "ttl": "1h"}; None if there is none.
Mark = Mapping[str, Any] | None


def mark_of(source: Mapping[str, Any]) -> Mark:
    """Return the mark in an object as the caller wrote it."""
    mark = source.get("cache_control")
    return mark if isinstance(mark, dict) else None


def marked_parts(message: Message) -> list[tuple[Part, Mark]]:
    """Return a message's parts that are not blank, each with its mark.

    A mark of the message itself belongs to its last part.
    """
    parts = [(part, part.cache_control) for part in solid_parts(message)]
    if parts and (mark := mark_of(message.source)) is not None:
        parts[-1] = parts[-1][0], mark
    return parts


def result_parts(message: Message) -> list[tuple[Part, Mark]]:
    """Return the parts of a tool's message, each with its mark.

    A mark of the message itself belongs to the result as a whole, as `mark_of` returns it.
    """
    return [
        (part, None if part.source is message.source else part.cache_control)
        for part in solid_parts(message)
    ]
