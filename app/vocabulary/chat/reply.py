"""What a chat reply holds beside its text, whole or as a delta of a stream."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.value_type import value_type


@value_type()
class Reply:
    """What a choice's message, or its delta in a stream, holds beside its text.

    `reasoning` is the reasoning text. `extra` holds fields that only the vendor knows, and those
    that carry what it wants back: `thinking_blocks`, `annotations`, `audio`, `images`.
    """

    reasoning: str = ""
    refusal: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    extra: Mapping[str, Any] | None = None

    @property
    def generated(self) -> str:
        """The text that the model generated for it, from which its tokens are estimated."""
        calls = (f"{call.name or ''}{call.arguments}" for call in self.tool_calls)
        return f"{self.reasoning}{self.refusal}{''.join(calls)}"


def merged(replies: Iterable[Reply]) -> Reply | None:
    """Return the whole of several deltas; None if there are none.

    Lists of `extra` are concatenated; of any other value, the last one counts.
    """
    found = list(replies)
    if len(found) < 2:
        return found[0] if found else None
    extra: dict[str, Any] = {}
    for reply in found:
        for name, value in (reply.extra or {}).items():
            before = extra.get(name)
            is_more = isinstance(before, list) and isinstance(value, list)
            extra[name] = before + value if is_more else value
    return Reply(
        "".join(reply.reasoning for reply in found),
        "".join(reply.refusal for reply in found),
        _joined(call for reply in found for call in reply.tool_calls),
        extra or None,
    )


def _joined(pieces: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Return whole calls from their pieces, in the order of their indices."""
    calls: dict[int, ToolCall] = {}
    for piece in pieces:
        before = calls.get(piece.index)
        calls[piece.index] = piece if before is None else _continued(before, piece)
    return tuple([calls[index] for index in sorted(calls)])


def _continued(call: ToolCall, piece: ToolCall) -> ToolCall:
    return ToolCall(
        call.index,
        call.id or piece.id,
        call.name or piece.name,
        call.arguments + piece.arguments,
        call.type,
        {**(call.extra or {}), **(piece.extra or {})} or None,
    )
