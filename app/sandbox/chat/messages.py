"""The messages of a chat request, with OpenAI's checks; their words."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.sandbox.chat.names import instead_of
from app.sandbox.errors import SandboxError

ROLES = ("developer", "system", "user", "assistant", "tool")
#: Role -> the types of its parts.
PARTS: Mapping[str, tuple[str, ...]] = {
    "developer": ("text",),
    "system": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
#: What an image, a sound or a file costs, in tokens.
MEDIA_TOKENS = 85

#: The two forms of an image, and what base64 has not.
_ADDRESS = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_DATA = re.compile(r"data:image/[\w.+-]+;base64,(?=.)", re.IGNORECASE)
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=_\s-]")

#: Most calls without a result that an error names.
LISTED_LIMIT = 20

Message = Mapping[str, Any]


def check_messages(messages: Sequence[Message]) -> None:
    """Check every message, and that each tool call has its result.

    Raises: SandboxError.
    """
    waiting: Counter[str] = Counter()
    for at, message in enumerate(messages):
        path = f"messages[{at}]"
        role = message.get("role")
        if role not in ROLES:
            raise _wrong(f"{path}.role", f"must be one of {', '.join(ROLES)}")
        _check_content(message, str(role), path)
        if role == "tool":
            call_id = message.get("tool_call_id")
            if not isinstance(call_id, str) or not waiting[call_id]:
                text = "must be the id of a tool call in the assistant's message before it"
                raise _wrong(f"{path}.tool_call_id", text)
            waiting[call_id] -= 1
            continue
        _check_answered(waiting)
        waiting = Counter(_calls(message, path))
    _check_answered(waiting)


def words_to_echo(messages: Sequence[Message]) -> str:
    """Return the text that comes back: of the last tool results, or of the last user message."""
    trailing: list[str] = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        trailing.append(text_of(message))
    if trailing:
        return " ".join(reversed(trailing))
    said = [message for message in messages if message["role"] == "user"] or messages
    return text_of(said[-1])


def is_answered(messages: Sequence[Message]) -> bool:
    """Whether the last message is the result of a tool."""
    return bool(messages[-1]["role"] == "tool")


def count_tokens(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> int:
    """Return the tokens of a prompt: words of texts, calls and tools, and a number per image."""
    counts = [len(text.split()) for message in messages for text in _texts(message)]
    media = sum(
        1
        for message in messages
        for part in _parts(message)
        if part["type"] not in ("text", "refusal")
    )
    counts += [len(json.dumps(tool).split()) for tool in tools]
    return sum(counts) + media * MEDIA_TOKENS


def text_of(message: Message) -> str:
    """Return the text of a message's content."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return " ".join(part.get("text") or part.get("refusal") or "" for part in _parts(message))


def _texts(message: Message) -> Iterator[str]:
    yield text_of(message)
    for call in message.get("tool_calls") or ():
        inner = call.get("function") or call.get("custom") or {}
        yield from (str(value) for value in inner.values())


def _parts(message: Message) -> Sequence[Mapping[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else ()


def _check_content(message: Message, role: str, path: str) -> None:
    content = message.get("content")
    if isinstance(content, str):
        return
    if content is None:
        stands_in = any(message.get(it) for it in ("tool_calls", "refusal", "audio"))
        if role == "assistant" and stands_in:
            return
        raise _wrong(f"{path}.content", "must be a string or an array of parts, not null")
    if not isinstance(content, list) or not content:
        raise _wrong(f"{path}.content", "must be a string or an array of at least one part")
    for at, part in enumerate(content):
        of_type = part.get("type") if isinstance(part, dict) else None
        if of_type not in PARTS[role]:
            hint = instead_of(of_type, PARTS[role])
            kinds = f"must be one of {', '.join(PARTS[role])}{hint}"
            raise _wrong(f"{path}.content[{at}].type", kinds)
        wanted = dict if of_type not in ("text", "refusal") else str
        if not isinstance(part.get(of_type), wanted):
            kind = "a string" if wanted is str else "an object"
            raise _wrong(f"{path}.content[{at}].{of_type}", f"must be {kind}")
        if of_type == "image_url":
            _check_image(part["image_url"].get("url"), f"{path}.content[{at}].image_url.url")


def _check_image(url: Any, path: str) -> None:
    """Check the form of an image's URL: nothing is fetched, and no picture is decoded."""
    address, data = (
        (_ADDRESS.match(url), _DATA.match(url)) if isinstance(url, str) else (None, None)
    )
    if not address and (data is None or _NOT_BASE64.search(url, data.end())):
        raise _wrong(path, "must be an `https://` address, or `data:image/png;base64,...`")


def _calls(message: Message, path: str) -> list[str]:
    """Return the ids of a message's calls."""
    calls, at = message.get("tool_calls"), f"{path}.tool_calls"
    if calls is None:
        return []
    if message["role"] != "assistant":
        raise _wrong(at, "is only allowed in a message of the role assistant")
    if not isinstance(calls, list) or not calls:
        raise _wrong(at, "must be an array of at least one call")
    for index, call in enumerate(calls):
        kind = call.get("type") if isinstance(call, dict) else None
        inner = call.get(kind) if kind in ("function", "custom") else None
        if not isinstance(inner, dict) or not isinstance(call.get("id"), str):
            raise _wrong(
                f"{at}[{index}]", "must be a call of the type function or custom, with an id"
            )
        if not isinstance(inner.get("arguments" if kind == "function" else "input"), str):
            raise _wrong(f"{at}[{index}].{kind}", "must have a string of arguments")
    return [call["id"] for call in calls]


def _check_answered(waiting: Counter[str]) -> None:
    if open_calls := [name for name, results in waiting.items() if results]:
        names = ", ".join(f"`{name[:64]}`" for name in open_calls[:LISTED_LIMIT])
        text = f"No message of the role `tool` has the result of these tool calls: {names}."
        raise SandboxError(text, param="messages")


def _wrong(param: str, text: str) -> SandboxError:
    return SandboxError(f"`{param}` {text}.", param=param)
