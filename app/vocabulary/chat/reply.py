"""What a chat reply holds beside its text, whole or as a delta of a stream."""

from collections.abc import Iterable, Mapping, Sequence
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
    return Reply(
        "".join(reply.reasoning for reply in found),
        "".join(reply.refusal for reply in found),
        _joined(call for reply in found for call in reply.tool_calls),
        chained(reply.extra for reply in found if reply.extra),
    )


def chained(objects: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Merge objects: concatenate lists; of any other value, keep the last. None if empty."""
    whole: dict[str, Any] = {}
    own: set[str] = set()  # names whose list is a new one, which may be added to
    for each in objects:
        for name, value in each.items():
            before = whole.get(name)
            if not (isinstance(before, list) and isinstance(value, list)):
                whole[name] = value
                own.discard(name)
            elif name in own:
                before += value
            else:
                whole[name] = before + value
                own.add(name)
    return whole or None


def _joined(pieces: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Return whole calls from their pieces, in the order of their indices."""
    calls: dict[int, list[ToolCall]] = {}
    for piece in pieces:
        calls.setdefault(piece.index, []).append(piece)
    return tuple([_whole(calls[index]) for index in sorted(calls)])


def _whole(pieces: Sequence[ToolCall]) -> ToolCall:
    """Return a call from its pieces, at least one."""
    if len(pieces) == 1:
        return pieces[0]
    return ToolCall(
        pieces[0].index,
        _first([piece.id for piece in pieces]),
        _first([piece.name for piece in pieces]),
        "".join([piece.arguments for piece in pieces]),
        pieces[0].type,
        {name: value for piece in pieces for name, value in (piece.extra or {}).items()} or None,
    )


def _first(texts: Sequence[str | None]) -> str | None:
    """Return the first text that is there; the last one if none is."""
    return next(filter(None, texts), texts[-1])
