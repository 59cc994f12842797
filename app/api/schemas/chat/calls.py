"""The tool calls of an assistant's message."""

from collections.abc import Sequence
from typing import Any

from app.api.schemas.chat.checks import (
    ELEMENTS_LIMIT,
    Json,
    mapping,
    objects,
    text,
    without_nulls,
)
from app.vocabulary.chat.tools import ToolCall

#: Members of a call with a meaning here; others are the vendor's.
_KNOWN = frozenset({"id", "type", "function", "custom"})


def read_calls(value: Any, path: str) -> tuple[tuple[ToolCall, ...], Sequence[Json]]:
    """Return the calls at `path`, and their sources without what only clients put there.

    Clients send back the `index` of a streamed call, `parsed_arguments`, and nulls.
    """
    sources: list[Json] = []

    def read(source: Json, at: str) -> ToolCall:
        kept = _without_clients(source)
        sources.append(kept)
        return _call(kept, len(sources) - 1, at)

    return objects(value, path, ELEMENTS_LIMIT, read), sources


def _call(source: Json, index: int, path: str) -> ToolCall:
    call_id = text(source, "id", path)
    of_type = text(source, "type", path) if "type" in source else "function"
    extra = None
    if not source.keys() <= _KNOWN:
        extra = {name: value for name, value in source.items() if name not in _KNOWN}
    if of_type == "function":
        function, at = mapping(source, "function", path), f"{path}.function"
        name, arguments = text(function, "name", at), text(function, "arguments", at)
    elif of_type == "custom":
        custom, at = mapping(source, "custom", path), f"{path}.custom"
        name, arguments = text(custom, "name", at), text(custom, "input", at)
    else:  # its vendor may know it
        return ToolCall(index, call_id, None, "", of_type, {**source})
    return ToolCall(index, call_id, name, arguments, of_type, extra)


def _without_clients(source: Json) -> Json:
    if "index" in source:
        source = {name: value for name, value in source.items() if name != "index"}
    source = without_nulls(source)
    function = source.get("function")
    if type(function) is not dict:
        return source
    kept = without_nulls(function)
    if "parsed_arguments" in kept:
        kept = {name: value for name, value in kept.items() if name != "parsed_arguments"}
    return source if kept is function else {**source, "function": kept}
