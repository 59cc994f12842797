"""What the choices of one response hold beside their texts: calls, reasoning, vendors' fields.

Official clients join the deltas of a stream: texts are appended, and items of lists are told apart
by their `index`. So lists of objects get one.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from app.gateways.decoding.choices.calls import StreamedCalls, whole_calls
from app.gateways.decoding.choices.texts import TextJoiner, sanitized
from app.vocabulary.chat.reply import Reply
from app.vocabulary.completion import Choice, Ending

#: How a choice ends that has called a tool: by today's contract, or by the old one.
Called = Literal["tool_calls", "function_call"]


class Replies:
    """The replies of one response, by the slots of their choices."""

    def __init__(self) -> None:
        self._calls: defaultdict[int, StreamedCalls] = defaultdict(StreamedCalls)
        self._called: dict[int, Called] = {}
        self._reasoning: defaultdict[int, TextJoiner] = defaultdict(TextJoiner)
        self._refusals: defaultdict[int, TextJoiner] = defaultdict(TextJoiner)
        self._lengths: defaultdict[tuple[int, str], int] = defaultdict(int)

    def take(self, slot: int, reply: Reply) -> Reply | None:
        """Return what can be passed on of a delta; None if nothing."""
        calls: tuple[Any, ...] = ()
        if reply.tool_calls:
            calls = tuple(self._calls[slot].take(reply.tool_calls))
        extra = self._indexed(slot, reply.extra) if reply.extra else None
        self._note(slot, reply)
        reasoning = self._reasoning[slot].join(reply.reasoning)
        refusal = self._refusals[slot].join(reply.refusal)
        taken = Reply(reasoning, refusal, calls, extra)
        return taken if taken.reasoning or taken.refusal or calls or extra else None

    def take_whole(self, slot: int, reply: Reply) -> Reply:
        """Return the reply of a whole message, put right."""
        self._note(slot, reply)
        return replace(
            reply,
            reasoning=sanitized(reply.reasoning),
            refusal=sanitized(reply.refusal),
            tool_calls=whole_calls(reply.tool_calls),
        )

    def close(self, ends: Mapping[int, Choice]) -> list[Choice]:
        """Return the deltas that were held back, of calls and of halves of characters, at the end.

        A call that the limit has cut stays as it is.
        """
        closed = []
        for slot in self._reasoning.keys() | self._refusals.keys():
            half = Reply(self._reasoning[slot].flush(), self._refusals[slot].flush())
            if half.reasoning or half.refusal:
                closed.append(Choice(slot, "", reply=half))
        for slot, calls in self._calls.items():
            end = ends.get(slot)
            is_complete = end is not None and end.finish_reason in ("stop", "tool_calls")
            if pieces := calls.close(is_complete=is_complete):
                closed.append(Choice(slot, "", reply=Reply(tool_calls=tuple(pieces))))
        return closed

    def ending(self, slot: int, reason: Ending) -> Ending:
        """Return why a choice ended: with calls, if it has any and the vendor ended normally."""
        if reason not in ("stop", "tool_calls", "function_call"):
            return reason
        return self._called.get(slot, "stop")

    def _note(self, slot: int, reply: Reply) -> None:
        if reply.tool_calls:
            self._called[slot] = "tool_calls"
        elif reply.extra and reply.extra.get("function_call"):
            self._called.setdefault(slot, "function_call")

    def _indexed(self, slot: int, extra: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._list(slot, name, value) for name, value in extra.items()}

    def _list(self, slot: int, name: str, value: Any) -> Any:
        """Return a field; the items of a list of objects with their positions as `index`."""
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            return value
        if all(type(item.get("index")) is int for item in value):
            return value
        start = self._lengths[slot, name]
        self._lengths[slot, name] += len(value)
        return [{**item, "index": at} for at, item in enumerate(value, start)]
