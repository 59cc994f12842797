"""The chunks of a chat stream as JSON.

Clients join each choice's deltas field by field, so that nothing may come twice: the role is in the
first delta, the finish reason in a last one of its own, the usage in a last chunk.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from app.api.schemas.chat.dump import dump_chat_usage, dump_head, dump_logprobs
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion, Usage

_KIND = "chat.completion.chunk"


class ChatChunks:
    """Dumps the chunks of one stream."""

    def __init__(self) -> None:
        self._begun: set[int] = set()

    def dump(self, chunk: Completion) -> list[dict[str, Any]]:
        """Return the `chat.completion.chunk` objects of a chunk, mostly one, without their usage.

        A chunk without choices is the one with the usage.
        """
        choices = chunk.choices
        if len(choices) == 1 and _is_usual(choices[0]) and choices[0].index in self._begun:
            choice = choices[0]
            body = dump_head(chunk, _KIND) if _is_long(chunk) else _head(chunk)
            body["choices"] = [
                {
                    "index": choice.index,
                    "delta": {"content": choice.text},
                    "logprobs": None,
                    "finish_reason": None,
                }
            ]
            return [body]
        if not choices:
            return [dump_head(chunk._replace(extra=None), _KIND)]
        return self._several(chunk)

    def usage(self, usage: Usage) -> dict[str, Any]:
        """Return a usage."""
        return dump_chat_usage(usage)

    def _several(self, chunk: Completion) -> list[dict[str, Any]]:
        """Return a chunk as as many as it takes: one call begins, or one choice's end is, in each.

        Choices side by side stay in one chunk.
        """
        rounds: list[list[dict[str, Any]]] = []
        for choice in self._in_order(chunk.choices):
            for at, dumped in enumerate(self._deltas(choice)):
                if at == len(rounds):
                    rounds.append([])
                rounds[at].append(dumped)
        head = dump_head(chunk, _KIND)
        bare = head if not chunk.extra else dump_head(chunk._replace(extra=None), _KIND)
        return [{**(bare if at else head), "choices": it} for at, it in enumerate(rounds)]

    def _in_order(self, choices: Sequence[Choice]) -> Sequence[Choice]:
        """Return choices; if one is new, in the order of their indices, none below it missing.

        OpenAI's client appends a choice that is new, wherever its index says that it belongs. Of
        samples that are made by several calls, any may answer first.
        """
        indices = {choice.index for choice in choices}
        if indices <= self._begun:
            return choices
        missing = set(range(max(indices))) - indices - self._begun
        begun = [Choice(index, "") for index in missing]
        return sorted([*begun, *choices], key=attrgetter("index"))

    def _deltas(self, choice: Choice) -> Iterator[dict[str, Any]]:
        """Yield a choice's deltas, one after another."""
        reply, is_first = choice.reply, choice.index not in self._begun
        self._begun.add(choice.index)
        says = choice.text or reply is not None or choice.logprobs is not None
        if is_first or says or choice.finish_reason is None:
            delta = _first(choice) if is_first else _delta(choice.text, reply)
            calls = () if reply is None else reply.tool_calls
            if calls:
                delta["tool_calls"] = [_piece(calls[0])]
            end = {} if choice.finish_reason else _end(choice)
            yield _body(choice, delta, dump_logprobs(choice.logprobs), **end)
            for call in calls[1:]:
                yield _body(choice, {"tool_calls": [_piece(call)]}, None)
        if choice.finish_reason is not None:
            yield _body(choice, {}, None, **_end(choice))


def _is_usual(choice: Choice) -> bool:
    """Whether a choice is a text and nothing else."""
    plain = choice.reply is None and choice.finish_reason is None and choice.logprobs is None
    return plain and choice.extra is None


def _is_long(chunk: Completion) -> bool:
    """Whether a chunk has more than every chunk has."""
    named = chunk.system_fingerprint is not None or chunk.service_tier is not None
    return named or chunk.extra is not None


def _head(chunk: Completion) -> dict[str, Any]:
    return {"id": chunk.id, "object": _KIND, "created": chunk.created, "model": chunk.model}


def _body(
    choice: Choice, delta: dict[str, Any], logprobs: dict[str, Any] | None, /, **end: Any
) -> dict[str, Any]:
    """Return a choice; a vendor's own field in `end` may have any name."""
    body = {"index": choice.index, "delta": delta, "logprobs": logprobs, "finish_reason": None}
    return {**body, **end}


def _end(choice: Choice) -> dict[str, Any]:
    """Return what is beside the last delta of a choice: its end, and the vendor's own fields."""
    end = {**(choice.extra or {}), "finish_reason": choice.finish_reason}
    if choice.native_finish_reason is not None:
        end["native_finish_reason"] = choice.native_finish_reason
    return end


def _first(choice: Choice) -> dict[str, Any]:
    """Return the first delta of a choice, which has its role, a content and a refusal.

    The content is null if something else comes first: nobody knows yet whether there will be text.
    It is null, too, if a filter has left nothing.
    """
    is_text = choice.reply is None and choice.finish_reason != "content_filter"
    content = choice.text if choice.text or is_text else None
    first = {"role": "assistant", "content": content, "refusal": None}
    return {**first, **_delta("", choice.reply)}


def _delta(text: str, reply: Reply | None) -> dict[str, Any]:
    """Return a delta without its calls: what it has, and nothing else."""
    if reply is None:
        return {"content": text} if text else {}
    delta = {**(reply.extra or {})}
    if text:
        delta["content"] = text
    if reply.reasoning:
        delta["reasoning_content"] = reply.reasoning
    if reply.refusal:
        delta["refusal"] = reply.refusal
    return delta


def _piece(call: ToolCall) -> dict[str, Any]:
    """Return a piece of a call; its id, its type and its name are in the first one."""
    body: dict[str, Any] = {**(call.extra or {}), "index": call.index}
    inner = {"input" if call.type == "custom" else "arguments": call.arguments}
    if call.id is not None:
        body |= {"id": call.id, "type": call.type}
    if call.name is not None:
        inner = {"name": call.name, **inner}
    body["custom" if call.type == "custom" else "function"] = inner
    return body
