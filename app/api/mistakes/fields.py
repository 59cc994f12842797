"""A field that is absent or wrong, at any depth of a body: what to write instead. No I/O.

The sentences repeat names of the body's fields, and none of its values.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from app.api.schemas.fields import MISSING, TYPE, VALUE
from app.vocabulary.errors import InvalidRequest
from app.vocabulary.suggestion import nearest

#: A required field -> names that other services have for it.
OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "arguments": ("args", "input", "parameters"),
    "content": ("text", "parts", "message", "value", "contents", "body"),
    "messages": ("contents", "message", "conversation", "chat_history", "history"),
    "model": ("engine", "model_id", "modelId", "model_name", "deployment", "deployment_id"),
    "name": ("title", "id"),
    "prompt": ("input", "inputs", "text", "query", "question", "instances"),
    "role": ("from", "speaker", "author", "sender"),
    "text": ("content", "value"),
    "tool_call_id": ("id", "call_id", "toolCallId", "tool_use_id"),
    "url": ("uri", "href", "link", "data"),
}

_TOOL = '`{"type": "function", "function": {"name": ..., "parameters": {...}}}`'
_CALL = '`{"id": ..., "type": "function", "function": {"name": ..., "arguments": "{...}"}}`'
_CHOICE = '`{"type": "function", "function": {"name": ...}}`'
_FORMAT = '`{"type": "json_schema", "json_schema": {"name": ..., "schema": {...}}}`'
_MESSAGE = '`{"role": "user", "content": "..."}`'
_TEXT = '`{"type": "text", "text": "..."}`'

#: Paths, and the form of the object that has the absent field.
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"tools\[\d+\]\.(?:type|function)"), f"A tool is {_TOOL}."),
    (re.compile(r"messages\[\d+\]\.tool_calls\[\d+\]\..*"), f"A call is {_CALL}."),
    (re.compile(r"tool_choice\.(?:type|function)"), f"To name a tool, send {_CHOICE}."),
    (re.compile(r"response_format\.json_schema\b.*"), f"A schema is sent as {_FORMAT}."),
    (re.compile(r"messages\[\d+\]\.content\[\d+\]\.type"), f"A part with text is {_TEXT}."),
)

#: Paths, the wrong type of the value there, and what to send.
_TYPES: tuple[tuple[re.Pattern[str], tuple[type, ...], str], ...] = (
    (re.compile(r".*\.image_url"), (str,), 'Send `{"url": "..."}`.'),
    (re.compile(r".*\.arguments"), (dict, list), "Send it as a text: `json.dumps(...)`."),
    (re.compile(r"response_format"), (str,), 'Send `{"type": "json_object"}`.'),
    (re.compile(r"messages"), (str, dict), f"Send `[{_MESSAGE.strip('`')}]`."),
    (re.compile(r"messages\[\d+\]"), (str, list), f"Send {_MESSAGE}."),
    (re.compile(r"messages\[\d+\]\.content\[\d+\]"), (str,), f"Send {_TEXT}."),
    (
        re.compile(r"(?:.*\.content|tools|functions|stop)"),
        (dict,),
        "Put it into an array: `[...]`.",
    ),
    (re.compile(r"metadata\..*"), (int, float, bool), "Send it in quotes."),
    (re.compile(r"logprobs"), (int,), "A number of tokens goes into `top_logprobs`."),
)

#: Words of other services -> ours.
_WORDS: Mapping[str, str] = {
    "ai": "assistant",
    "any": "required",
    "bot": "assistant",
    "gpt": "assistant",
    "human": "user",
    "json": "json_object",
    "model": "assistant",
}

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_ONE_OF = re.compile(r"must be (?:one of )?([\w-]+(?:, [\w-]+)+)")
_STEP = re.compile(r"\[(\d+)\]|\.?([^.\[]+)")

#: How much of a name is repeated, and how many names of an object are compared: a body may hold
#: hundreds of thousands.
_NAME_LIMIT, _NAMES_LIMIT = 64, 64


def explain_fields(error: InvalidRequest, body: Mapping[str, Any]) -> None:
    """Add what to write instead to each fault of an error about the fields of `body`."""
    if not error.details:
        if hint := _hint(body, error.param, error.code, error.message):
            error.add(hint)
        return
    details = []
    for it in error.details:
        said = str(it["message"])
        hint = _hint(body, it["param"], it["code"], said)
        more = f"{said} {hint}" if hint else said
        error.message = error.message.replace(said, more, 1)
        details.append({**it, "message": more})
    error.details, error.args = details, (error.message,)


def _hint(body: Mapping[str, Any], path: str | None, code: str | None, said: str) -> str:
    """Return what to write instead at a path of the body; empty if nothing is like it."""
    *above, last = [index or name for index, name in _STEP.findall(path or "")] or [""]
    holder = _at(body, above)
    value = _at(holder, [last])
    if code == MISSING and isinstance(holder, Mapping):
        return _of_absent(path or "", last, holder)
    if code == TYPE and value is not None:
        return _of_type(path or "", value, said)
    if code == VALUE and isinstance(value, str):
        return _of_word(body, path or "", value, said)
    return ""


def _at(value: Any, steps: Sequence[str]) -> Any:
    """Return what is below `value`; None if it is not there."""
    for step in steps:
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _of_absent(path: str, name: str, holder: Mapping[str, Any]) -> str:
    """Return the sentence about a required field that an object has not."""
    if found := _misnamed(name, holder):
        return f"Is it `{found[:_NAME_LIMIT]}`? Rename that to `{name}`."
    for pattern, sentence in _FORMS:
        if holder and pattern.fullmatch(path):
            return sentence
    if "." not in path and len(holder) == 1:
        key, inner = next(iter(holder.items()))
        if isinstance(inner, Mapping) and name in inner:
            return f"Send what is in `{key[:_NAME_LIMIT]}` as the body itself."
    return ""


def _misnamed(name: str, holder: Mapping[str, Any]) -> str | None:
    """Return the field of an object that was most likely meant to be `name`."""
    given = [key for key, value in islice(holder.items(), _NAMES_LIMIT) if value is not None]
    trimmed = {key.strip(): key for key in given}
    if found := nearest(name, trimmed):
        return trimmed[found]
    return next((key for key in OTHER_NAMES.get(name, ()) if key in given), None)


def _of_type(path: str, value: Any, said: str) -> str:
    """Return the sentence about a value of a wrong type."""
    if isinstance(value, str) and "a string" not in said:
        is_number = _NUMBER.fullmatch(value.strip()) and ("integer" in said or "number" in said)
        is_flag = value.strip().lower() in ("true", "false") and "true or false" in said
        if is_number or is_flag:
            return "Send it without quotes."
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return "Send it without a decimal point." if "an integer" in said else ""
    return next(
        (
            sentence
            for pattern, types, sentence in _TYPES
            if pattern.fullmatch(path) and type(value) in types
        ),
        "",
    )


def _of_word(body: Mapping[str, Any], path: str, value: str, said: str) -> str:
    """Return the sentence about a text that must be one of some words."""
    listed = _ONE_OF.search(said)
    if listed is None:
        return ""
    words = listed[1].split(", ")
    lowered = value.strip().lower()
    if (meant := _WORDS.get(lowered) or nearest(lowered, words)) in words:
        return f"Did you mean `{meant}`?"
    if path == "tool_choice" and value in _tool_names(body):
        return f"To name a tool, send {_CHOICE}."
    if path == "tool_choice.type" and lowered in ("auto", "none", "required"):
        return f'Send the word alone: `"tool_choice": "{lowered}"`.'
    return ""


def _tool_names(body: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the names of the functions that a body offers."""
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        yield _at(tool, ("function", "name"))
