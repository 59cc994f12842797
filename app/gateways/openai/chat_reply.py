"""Reads a chat message, or a delta of one: its text, and what it holds beside the text.

Vendors differ in the name of the reasoning text, and in the forms of content and of tool calls.
Source: OpenAI's ChatCompletionResponseMessage and its deltas; docs/vendors.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.formats import strict_json
from app.gateways.decoding.choices.slots import UNNUMBERED
from app.gateways.decoding.choices.texts import sanitized
from app.gateways.decoding.parsing import plain_mapping
from app.gateways.openai.response import index_of
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall

#: The fields of the usual message and delta.
USUAL = frozenset({"role", "content", "refusal"})

#: Fields of a message that are read; all others are kept as they are.
READ = USUAL | {"reasoning", "reasoning_content", "tool_calls"}

#: Fields of the contract that some servers fill with empty values where there is nothing.
MAYBE_HOLLOW = frozenset({"audio", "function_call"})

#: Fields of a tool call that are read.
CALL = frozenset({"custom", "function", "id", "index", "type"})

#: What models of Groq's write beside the name of a tool that takes no arguments.
NO_ARGUMENTS = "null"

#: Ids that stand for none: Mistral's default is a text.
NO_ID = frozenset({"", "null"})


def read_reply(
    message: Mapping[str, Any], thoughts: "Thoughts | None" = None
) -> tuple[str, Reply | None] | None:
    """Return a message's text, and what is beside it or None; None if its content is malformed.

    `thoughts` are those of earlier deltas of the choice; None for a whole message.
    """
    content = message.get("content")
    if isinstance(content, str) and USUAL.issuperset(message) and not message.get("refusal"):
        return content, None
    read = content_of(content)
    if read is None:
        return None
    is_delta = thoughts is not None
    signed = list((thoughts or Thoughts()).take(read.thoughts)) if read.thoughts else []
    reply = Reply(
        reasoning_of(message) or "".join(text for text, _ in read.thoughts),
        _text(message.get("refusal")),
        tuple(_calls(message.get("tool_calls"), is_delta=is_delta)),
        _extra(message, {"content_parts": read.others, SIGNED: signed}, is_delta=is_delta),
    )
    return read.text, None if reply == NOTHING else reply


NOTHING = Reply()

#: The field of a message that holds reasoning with its signature, as for other vendors.
SIGNED = "thinking_blocks"


class Content(NamedTuple):
    """A message's content: its text, its thoughts with their signatures, and all other parts."""

    text: str = ""
    thoughts: Sequence[tuple[str, str]] = ()
    others: Sequence[Any] = ()


class Thoughts:
    """Joins the thoughts of a choice, which come in deltas; a signature ends one of them."""

    def __init__(self) -> None:
        self._text = ""

    def take(self, thoughts: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        """Add texts with their signatures, mostly ""; yield those that are complete."""
        for text, signature in thoughts:
            self._text += text
            if signature:
                yield {"type": "thinking", "thinking": self._text, "signature": signature}
                self._text = ""


def content_of(content: Any) -> Content | None:
    """Read a message's content; None if it is malformed.

    It is a text, null, or a list of parts, as of Mistral's models that reason.
    """
    if isinstance(content, str | None):
        return Content(content or "")
    if not isinstance(content, list):
        return None
    texts, thoughts, others = list[str](), list[tuple[str, str]](), list[Any]()
    for part in content:
        body = plain_mapping(part)
        kind = body.get("type")
        if kind == "text" and isinstance(body.get("text"), str):
            texts.append(body["text"])
        elif kind == "thinking":
            thoughts.append((_thought(body.get("thinking")), _text(body.get("signature"))))
        elif part:
            others.append(part)
    return Content("".join(texts), thoughts, others)


def _thought(thinking: Any) -> str:
    """Return the text of a part's thinking: a text, or a list of text parts."""
    if isinstance(thinking, str):
        return thinking
    parts = thinking if isinstance(thinking, list) else []
    return "".join(_text(plain_mapping(part).get("text")) for part in parts)


def reasoning_of(message: Mapping[str, Any]) -> str:
    """Return the reasoning text, by either name; some vendors send both."""
    return _text(message.get("reasoning_content")) or _text(message.get("reasoning"))


def _calls(calls: Any, *, is_delta: bool) -> Iterator[ToolCall]:
    """Yield the calls of a message, numbered by their places, or pieces of them from a delta.

    Text Generation Inference has sent a single call without the list.
    """
    calls = [calls] if isinstance(calls, dict) else calls
    for at, call in enumerate(calls if isinstance(calls, list) else []):
        if isinstance(call, dict):
            yield _call(index_of(call) if is_delta else at, call)


def _call(index: int, call: Mapping[str, Any]) -> ToolCall:
    function, custom = call.get("function"), call.get("custom")
    name, arguments, kind = function, None, "function"
    if isinstance(custom, dict) and (call.get("type") == "custom" or not function):
        name, arguments, kind = custom.get("name"), custom.get("input"), "custom"
    elif isinstance(function, dict):
        name, arguments = function.get("name"), function.get("arguments")
        if name and isinstance(arguments, str) and arguments.strip() == NO_ARGUMENTS:
            arguments = None
    call_id = call.get("id")
    extra = {key: value for key, value in call.items() if key not in CALL and value is not None}
    return ToolCall(
        UNNUMBERED if index < 0 else index,
        call_id if isinstance(call_id, str) and call_id not in NO_ID else None,
        sanitized(name) if isinstance(name, str) and name else None,
        _arguments(arguments),
        _text(call.get("type")) or kind,
        extra or None,
    )


def _arguments(arguments: Any) -> str:
    """Return the arguments as a text of JSON; some vendors send them as an object."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else strict_json.dump(arguments).decode()


def _extra(
    message: Mapping[str, Any], beside: Mapping[str, Sequence[Any]], *, is_delta: bool
) -> Mapping[str, Any] | None:
    """Return what only the vendor knows; of a delta, without what is empty."""
    extra = {
        name: value
        for name, value in message.items()
        if name not in READ and value is not None and not (is_delta and value in ("", [], {}))
    }
    for name in MAYBE_HOLLOW & extra.keys():
        if not any(plain_mapping(extra[name]).values()):
            del extra[name]
    extra |= {name: value for name, value in beside.items() if value}
    reasoning = message.get("reasoning")
    if reasoning and not isinstance(reasoning, str):
        extra["reasoning"] = reasoning
    return extra or None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
