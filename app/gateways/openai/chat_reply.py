"""Reads a chat message, or a delta of one: its text, and what it holds beside the text.

Vendors differ in the name of the reasoning text, and in the forms of content and of tool calls.
Source: OpenAI's ChatCompletionResponseMessage and its deltas; docs/vendors.md.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.formats import strict_json
from app.gateways.decoding.choices.slots import UNNUMBERED
from app.gateways.decoding.choices.texts import sanitized
from app.gateways.decoding.parsing import plain_mapping
from app.gateways.openai.response import index_of
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall

#: The fields of the usual delta.
USUAL = frozenset({"role", "content"})

#: Fields of a message that are read; all others are kept as they are.
READ = USUAL | {"reasoning", "reasoning_content", "refusal", "tool_calls"}

#: Fields of a tool call that are read.
CALL = frozenset({"custom", "function", "id", "index", "type"})

#: Ids that stand for none: Mistral's default is a text.
NO_ID = frozenset({"", "null"})


def read_reply(message: Mapping[str, Any], *, is_delta: bool) -> tuple[str, Reply | None] | None:
    """Return a message's text, and what is beside it or None; None if its content is malformed."""
    content = message.get("content")
    if isinstance(content, str) and USUAL.issuperset(message):
        return content, None
    text, thinking, other = content_of(content)
    if text is None:
        return None
    reply = Reply(
        reasoning_of(message) or thinking,
        _text(message.get("refusal")),
        tuple(_calls(message.get("tool_calls"), is_delta=is_delta)),
        _extra(message, other, is_delta=is_delta),
    )
    return text, None if reply == NOTHING else reply


NOTHING = Reply()


def content_of(content: Any) -> tuple[str | None, str, list[Any]]:
    """Return the text, the reasoning and all other parts of a message's content.

    The content is a text, null, or a list of parts, as of Mistral's models that reason. The text
    is None if it is none of these.
    """
    if isinstance(content, str | None):
        return content or "", "", []
    if not isinstance(content, list):
        return None, "", []
    texts, thoughts, others = list[str](), list[str](), list[Any]()
    for part in content:
        body = plain_mapping(part)
        kind = body.get("type")
        if kind == "text" and isinstance(body.get("text"), str):
            texts.append(body["text"])
        elif kind == "thinking":
            thoughts.append(_thoughts(body.get("thinking")))
        elif part:
            others.append(part)
    return "".join(texts), "".join(thoughts), others


def _thoughts(thinking: Any) -> str:
    """Return the text of a part's thinking: a text, or a list of text parts."""
    if isinstance(thinking, str):
        return thinking
    parts = thinking if isinstance(thinking, list) else []
    return "".join(_text(plain_mapping(part).get("text")) for part in parts)


def reasoning_of(message: Mapping[str, Any]) -> str:
    """Return the reasoning text, by either name; some vendors send both."""
    return _text(message.get("reasoning_content")) or _text(message.get("reasoning"))


def _calls(calls: Any, *, is_delta: bool) -> Iterator[ToolCall]:
    """Yield the calls of a message, numbered by their places, or pieces of them from a delta."""
    for at, call in enumerate(calls if isinstance(calls, list) else []):
        if isinstance(call, dict):
            yield _call(index_of(call) if is_delta else at, call)


def _call(index: int, call: Mapping[str, Any]) -> ToolCall:
    function, custom = call.get("function"), call.get("custom")
    name, arguments = function, None
    if isinstance(custom, dict):
        name, arguments = custom.get("name"), custom.get("input")
    elif isinstance(function, dict):
        name, arguments = function.get("name"), function.get("arguments")
    call_id = call.get("id")
    extra = {key: value for key, value in call.items() if key not in CALL and value is not None}
    return ToolCall(
        UNNUMBERED if index < 0 else index,
        call_id if isinstance(call_id, str) and call_id not in NO_ID else None,
        sanitized(name) if isinstance(name, str) and name else None,
        _arguments(arguments),
        _text(call.get("type")) or ("custom" if isinstance(custom, dict) else "function"),
        extra or None,
    )


def _arguments(arguments: Any) -> str:
    """Return the arguments as a text of JSON; some vendors send them as an object."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else strict_json.dump(arguments).decode()


def _extra(
    message: Mapping[str, Any], other: list[Any], *, is_delta: bool
) -> Mapping[str, Any] | None:
    """Return what only the vendor knows; of a delta, without what is empty."""
    extra = {
        name: value
        for name, value in message.items()
        if name not in READ and value is not None and not (is_delta and value in ("", [], {}))
    }
    if other:
        extra["content_parts"] = other
    reasoning = message.get("reasoning")
    if reasoning and not isinstance(reasoning, str):
        extra["reasoning"] = reasoning
    return extra or None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
