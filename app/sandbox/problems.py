"""Marshmallow's messages as the sandbox's errors: every faulty field, in plain words."""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from app.sandbox.errors import SandboxError

#: The most faults that a message states.
STATED_LIMIT = 5

UNKNOWN = "unknown_parameter"
_UNKNOWN = "Unknown field."

_CLIENTS = "It is an option of the client, not of a request."
_INNER = "Send its fields as parameters."
_SYSTEM = "Send it as a message of the role `system`, to `/v5/chat/completions`."
#: Parameters of other services and of clients -> what to do instead.
ELSEWHERE: Mapping[str, str] = {
    "api_base": _CLIENTS,
    "api_key": _CLIENTS,
    "base_url": _CLIENTS,
    "default_headers": _CLIENTS,
    "extra_body": _INNER,
    "extra_headers": _CLIENTS,
    "extra_query": _CLIENTS,
    "format": "Did you mean `response_format`?",
    "functions": "Use `tools` instead.",
    "generationConfig": _INNER,
    "generation_config": _INNER,
    "function_call": "Use `tool_choice` instead.",
    "headers": _CLIENTS,
    "max_length": "Did you mean `max_tokens`?",
    "max_retries": _CLIENTS,
    "n_predict": "Did you mean `max_tokens`?",
    "num_predict": "Did you mean `max_tokens`?",
    "num_retries": _CLIENTS,
    "options": _INNER,
    "parameters": _INNER,
    "preamble": _SYSTEM,
    "stop_sequences": "Did you mean `stop`?",
    "store": "",
    "system": _SYSTEM,
    "temp": "Did you mean `temperature`?",
    "thinking": "Did you mean `reasoning_effort`?",
    "timeout": _CLIENTS,
    "top_k": "",
}

#: Marshmallow's message -> what is said after the field's name, and the code.
_WORDS: Mapping[str, tuple[str, str]] = {
    _UNKNOWN: ("is not a parameter of the sandbox", UNKNOWN),
    "Missing data for required field.": ("is required", "missing_required_parameter"),
    "Field may not be null.": ("is required, and must not be null", "missing_required_parameter"),
    "Not a valid integer.": ("must be a whole number", "invalid_type"),
    "Not a valid number.": ("must be a number", "invalid_type"),
    "Not a valid string.": ("must be a string", "invalid_type"),
    "Not a valid boolean.": ("must be true or false", "invalid_type"),
    "Not a valid list.": ("must be an array", "invalid_type"),
    "Not a valid mapping type.": ("must be an object", "invalid_type"),
    "Invalid input type.": ("must be an object", "invalid_type"),
    "Not a string or a list of strings.": (
        "must be a string or an array of strings",
        "invalid_type",
    ),
}
_RANGE = re.compile(r"Must be greater than or equal to (\S+) and less than or equal to (\S+)\.")
_LENGTH = re.compile(r"Length must be between (\d+) and (\d+)\.")


def rejection(messages: Any, known: Iterable[str]) -> SandboxError:
    """Return the error for marshmallow's nested messages; `known` are the names of the fields.

    Its `param` and code are those of the first faulty field; the others are in the message.
    """
    names = list(known)
    faults = list(_faults("", messages, names))
    # Marshmallow names unknown fields in any order.
    faults.sort(key=lambda it: it[0] if it[2] == UNKNOWN else "")
    param, sentence, code = faults[0]
    if param == "_schema":
        return SandboxError("The body must be a JSON object.", code="invalid_type")
    others = [it for _, it, _ in faults[1:]]
    more = f" And {len(others) - STATED_LIMIT + 1} more." if len(others) >= STATED_LIMIT else ""
    also = f" Also: {' '.join(others[: STATED_LIMIT - 1])}{more}" if others else ""
    return SandboxError(sentence + also, param=param, code=code)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean ...?`, to be appended to a sentence; empty if no name is like it."""
    found = get_close_matches(name[:64].lower(), list(known), 1, 0.65)
    return f" Did you mean `{found[0]}`?" if found else ""


def _hint(path: str, known: Iterable[str]) -> str:
    """Return what to do about an unknown parameter, to be appended to a sentence."""
    instead = ELSEWHERE.get(path)
    if instead is None:
        return did_you_mean(path, known)
    return f" {instead}" if instead else ""


def _faults(path: str, found: Any, known: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the path of each faulty field, the sentence about it, and its code."""
    if isinstance(found, Mapping):
        for key, inner in found.items():
            step = f"[{key}]" if isinstance(key, int) else f".{str(key)[:64]}" if path else str(key)
            yield from _faults(path + step[:64], inner, known)
        return
    message = found[0] if isinstance(found, list) else str(found)
    words, code = _WORDS.get(message) or (_bounds(message), "invalid_value")
    hint = _hint(path, known) if message == _UNKNOWN else ""
    yield path, f"`{path}` {words}.{hint}", code


def _bounds(message: str) -> str:
    if found := _RANGE.fullmatch(message):
        return f"must be from {found[1]} to {found[2]}"
    if found := _LENGTH.fullmatch(message):
        return f"must have from {found[1]} to {found[2]} entries"
    return f"is invalid: {message.rstrip('.')}"
