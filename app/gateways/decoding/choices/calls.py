"""The tool calls of one choice, put right as they stream. No I/O.

Official clients depend on calls that are numbered from 0, come one after another, name themselves
once and have arguments. Vendors number calls by content blocks, all with 0 or not at all, repeat
ids and names, mix the pieces of two calls, and leave out empty arguments.
"""

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.formats.json_nesting import JSONNesting
from app.gateways.decoding.choices.slots import UNNUMBERED
from app.gateways.decoding.choices.texts import TextJoiner, sanitized
from app.vocabulary.chat.tools import ToolCall

#: What a call without arguments has: clients parse them as JSON.
NO_ARGUMENTS = "{}"

#: Most pieces of arguments that are no object or array, and that are still tried as JSON.
SCALAR_PIECES = 64

#: Ids that say that there is none.
NO_ID = frozenset({None, "", "null"})


@dataclass(slots=True)
class _Call:
    """A call so far; `held` are its pieces that wait for the end of the call before it."""

    index: int
    id: str | None
    name: str
    type: str
    is_sent: bool = False
    arguments: list[str] = field(default_factory=list)
    held: list[ToolCall] = field(default_factory=list)
    joiner: TextJoiner = field(default_factory=TextJoiner)
    extra: dict[str, Any] = field(default_factory=dict)
    nesting: JSONNesting = field(default_factory=JSONNesting)
    #: How many pieces of arguments were judged, and whether they were whole.
    judged: tuple[int, bool] = (0, False)

    def more(self, extra: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the fields of a piece without those that only repeat: clients would join them."""
        if not extra:
            return None
        new = {n: v for n, v in extra.items() if n not in self.extra or self.extra[n] != v}
        self.extra |= new
        return new or None

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are complete: those of a custom tool may be any text."""
        if self.type != "function":
            return True
        pieces = len(self.arguments)
        if self.judged[0] != pieces:
            for piece in self.arguments[self.judged[0] :]:
                self.nesting.feed(piece)
            self.judged = pieces, self._is_json()
        return self.judged[1]

    def _is_json(self) -> bool:
        """Whether the arguments are one JSON text; they are parsed only if their brackets close."""
        if not self.nesting.is_closed and (
            self.arguments[0].lstrip()[:1] in ("{", "[") or len(self.arguments) > SCALAR_PIECES
        ):
            return False
        try:
            json.loads("".join(self.arguments))
        except (ValueError, RecursionError):
            return False
        return True


class StreamedCalls:
    """The calls of one choice: `take` pieces, then `close`."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_number: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._open = 0  # the index of the call whose pieces are passed on

    def take(self, pieces: Iterable[ToolCall]) -> list[ToolCall]:
        """Return the pieces that can be passed on, numbered from 0."""
        passed: list[ToolCall] = []
        for piece in pieces:
            call = self._call_of(piece)
            told = self._told(call, piece)
            if told is None:
                continue
            if call.index > self._open:
                call.held.append(told)
            else:
                passed.append(told)
            passed += self._advanced()
        return passed

    def close(self, *, is_complete: bool) -> list[ToolCall]:
        """Return the pieces that were held back, at the end of the choice.

        If it is complete, calls without arguments get empty ones.
        """
        passed: list[ToolCall] = []
        for call in self._calls[self._open :]:
            passed += call.held
            call.held = []
            if not call.is_sent:
                passed.append(ToolCall(call.index, call.id, "", type=call.type))
            if half := call.joiner.flush():
                passed.append(ToolCall(call.index, arguments=half))
                call.arguments.append(half)
            if is_complete and not "".join(call.arguments) and call.type == "function":
                passed.append(ToolCall(call.index, arguments=NO_ARGUMENTS))
                call.arguments.append(NO_ARGUMENTS)
        return passed

    def _call_of(self, piece: ToolCall) -> _Call:
        """Return the call that a piece belongs to, maybe a new one."""
        known_id = None if piece.id in NO_ID else self._by_id.get(str(piece.id))
        numbered = self._by_number.get(piece.index)
        if piece.index == UNNUMBERED and self._calls:
            numbered = self._calls[-1]
        found = known_id or numbered
        if found is None or (known_id is None and _begins_another(piece, found)):
            return self._new(piece)
        return found

    def _new(self, piece: ToolCall) -> _Call:
        named = None if piece.id in NO_ID else sanitized(str(piece.id))
        call = _Call(len(self._calls), named or new_call_id(), "", piece.type)
        self._calls.append(call)
        if named is not None:
            self._by_id[str(piece.id)] = call
        if piece.index != UNNUMBERED:
            self._by_number[piece.index] = call
        return call

    def _told(self, call: _Call, piece: ToolCall) -> ToolCall | None:
        """Return what a piece adds to its call; None if it only repeats."""
        name = None if call.name or not piece.name else sanitized(piece.name)
        call.name = call.name or name or ""
        arguments = call.joiner.join(piece.arguments)
        if arguments:
            call.arguments.append(arguments)
        extra = call.more(piece.extra)
        if not (call.is_sent or call.name or arguments or extra):
            return None  # its name is still to come
        is_first, call.is_sent = not call.is_sent, True
        if not (is_first or name or arguments or extra):
            return None
        id_ = call.id if is_first else None
        return ToolCall(call.index, id_, name, arguments, call.type, extra)

    def _advanced(self) -> list[ToolCall]:
        """Return the pieces of the next calls, as far as those before them are whole."""
        passed: list[ToolCall] = []
        while self._open + 1 < len(self._calls) and self._calls[self._open].is_whole:
            self._open += 1
            call = self._calls[self._open]
            passed += call.held
            call.held = []
        return passed


def whole_calls(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls of a whole message, numbered, each with an id and arguments."""
    return tuple(
        [
            replace(
                call,
                index=at,
                id=new_call_id() if call.id in NO_ID else sanitized(str(call.id)),
                name=sanitized(call.name or ""),
                arguments=sanitized(call.arguments) or _none(call),
            )
            for at, call in enumerate(calls)
        ]
    )


def new_call_id() -> str:
    """Return an id for a call whose vendor sent none; OpenAI takes at most 40 characters."""
    return f"call_{secrets.token_hex(12)}"


def _none(call: ToolCall) -> str:
    return NO_ARGUMENTS if call.type == "function" else ""


def _begins_another(piece: ToolCall, call: _Call) -> bool:
    """Whether a piece with the number of `call`, or without one, begins another call."""
    if piece.id not in NO_ID:
        # An id that comes after its call's name belongs to it.
        return bool(call.arguments) or bool(piece.name and call.name)
    if not piece.name or not call.name:
        return False
    return piece.name != call.name or call.is_whole
