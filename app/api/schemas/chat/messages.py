"""The messages of a request, checked and converted in one walk."""

from collections.abc import Callable, Mapping
from typing import Any

from app.api.schemas.chat.calls import read_calls
from app.api.schemas.chat.checks import (
    ELEMENTS_LIMIT,
    Json,
    mapping,
    missing,
    objects,
    optional_text,
    text,
    without_nulls,
    wrong_type,
    wrong_value,
)
from app.api.schemas.chat.parts import read_content
from app.vocabulary.chat.message import ROLES, Message
from app.vocabulary.chat.parts import Part, TextPart
from app.vocabulary.chat.tools import ToolCall

#: Members of an assistant's message that are nothing of an answer's.
_FRAME = frozenset({"role", "name", "content"})


def read_messages(values: Any) -> tuple[Message, ...]:
    """Return the messages of a request.

    Their order is not judged: a vendor's gateway knows what it takes.
    Raises: InvalidRequest, with the path of the value.
    """
    messages = objects(values, "messages", ELEMENTS_LIMIT, _message)
    count = sum([1 + len(it.parts) + len(it.tool_calls) for it in messages])
    if count > ELEMENTS_LIMIT:
        sentence = f"must hold at most {ELEMENTS_LIMIT} messages, parts and tool calls together"
        raise wrong_value("messages", f"{sentence}, not {count}")
    return messages


def _message(source: Json, path: str) -> Message:
    role, content = source.get("role"), source.get("content")
    if type(content) is str and len(source) == 2 and role in _PLAIN:
        part = TextPart(text=content, source=source, path=f"{path}.content")
        return Message(role=role, path=path, source=source, parts=(part,))
    if type(role) is not str:
        raise missing(f"{path}.role") if role is None else wrong_type(f"{path}.role", "a string")
    read = _READERS.get(role)
    if read is None:
        raise wrong_value(f"{path}.role", f"must be one of {', '.join(ROLES)}")
    return read(role, without_nulls(source), path)


def _told(role: Any, source: Json, path: str) -> Message:
    """Return a message of a role that says something: it must have a content."""
    return Message(
        role=role,
        path=path,
        source=source,
        parts=_content(role, source, path),
        name=optional_text(source, "name", path),
    )


def _tool(role: Any, source: Json, path: str) -> Message:
    call_id = text(source, "tool_call_id", path)
    parts = _content(role, source, path)
    name = optional_text(source, "name", path)
    return Message(
        role=role, path=path, source=source, parts=parts, name=name, tool_call_id=call_id
    )


def _function(role: Any, source: Json, path: str) -> Message:
    """Return the result of a function: its content may be null."""
    name = text(source, "name", path)
    source, parts = _optional_content(role, source, path)
    return Message(role=role, path=path, source=source, parts=parts, name=name)


def _assistant(role: Any, source: Json, path: str) -> Message:
    """Return an assistant's message; beside calls or a refusal, it needs no content."""
    source = _without_clients(source)
    if source.keys() <= _FRAME and "content" not in source:
        raise missing(f"{path}.content")
    _check_answer(source, path)
    source, parts = _optional_content(role, source, path)
    calls: tuple[ToolCall, ...] = ()
    if "tool_calls" in source:
        calls, sources = read_calls(source["tool_calls"], f"{path}.tool_calls")
        source = {**source, "tool_calls": sources}
        if source["content"] == "":  # as null: many vendors refuse a block of nothing
            parts = ()
    return Message(
        role=role,
        path=path,
        source=source,
        parts=parts,
        name=optional_text(source, "name", path),
        tool_calls=calls,
    )


def _check_answer(source: Json, path: str) -> None:
    """Check the members that only an assistant's message has, but for its tool calls."""
    optional_text(source, "refusal", path)
    if "audio" in source:
        text(mapping(source, "audio", path), "id", f"{path}.audio")
    if "function_call" in source:
        call, at = mapping(source, "function_call", path), f"{path}.function_call"
        text(call, "name", at)
        text(call, "arguments", at)


def _content(role: str, source: Json, path: str) -> tuple[Part, ...]:
    if "content" not in source:
        raise missing(f"{path}.content")
    return read_content(role, source["content"], f"{path}.content", source)


def _optional_content(role: str, source: Json, path: str) -> tuple[Json, tuple[Part, ...]]:
    """Return a message with its content, at least null: some servers want the key."""
    if "content" not in source:
        return {**source, "content": None}, ()
    return source, read_content(role, source["content"], f"{path}.content", source)


def _without_clients(source: Json) -> Json:
    """Return a message without what only clients put there: what they parsed, and empty lists."""
    has_calls, content = source.get("tool_calls"), source.get("content")
    if "parsed" not in source and has_calls != [] and content != []:
        return source
    gone = {"parsed"} if has_calls else {"parsed", "tool_calls"}
    if has_calls and content == []:  # as null
        gone.add("content")
    return {name: value for name, value in source.items() if name not in gone}


_READERS: Mapping[str, Callable[[Any, Json, str], Message]] = {
    "system": _told,
    "developer": _told,
    "user": _told,
    "assistant": _assistant,
    "tool": _tool,
    "function": _function,
}
#: Roles whose messages may be a text alone: the usual ones.
_PLAIN = ("user", "assistant", "system", "developer")
