"""Misspelt names and words inside of a chat request, and which were meant.

Names that are like none of OpenAI's are ignored: other vendors have fields of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

from app.sandbox.errors import SandboxError
from app.sandbox.problems import UNKNOWN

#: How many names of an object are compared, and of a whole request: each takes 40 microseconds.
NAMES_LIMIT, COMPARED_LIMIT = 64, 5_000
#: How alike a misspelt name is, from 0 to 1.
ALIKE = 0.75

#: What is inside of a field -> its names. `[]` is each item of a list.
NAMES: Mapping[str, Sequence[str]] = {
    "messages[]": (
        "role",
        "content",
        "name",
        "refusal",
        "audio",
        "function_call",
        "tool_calls",
        "tool_call_id",
    ),
    "messages[].content[]": ("type", "text", "refusal", "image_url", "input_audio", "file"),
    "messages[].content[].image_url": ("url", "detail"),
    "messages[].content[].input_audio": ("data", "format"),
    "messages[].content[].file": ("file_data", "file_id", "filename"),
    "messages[].tool_calls[]": ("id", "type", "function", "custom"),
    "messages[].tool_calls[].function": ("name", "arguments"),
    "tools[]": ("type", "function", "custom"),
    "tools[].function": ("name", "description", "parameters", "strict"),
    "tool_choice": ("type", "function", "custom", "allowed_tools"),
    "response_format": ("type", "json_schema"),
    "response_format.json_schema": ("name", "description", "schema", "strict"),
}

#: Types that other APIs have -> what stands for them here.
_OTHER_TYPES: Mapping[str, str] = {
    "image": "image_url",
    "input_file": "file",
    "input_image": "image_url",
    "input_text": "text",
    "json": "json_object",
    "output_text": "text",
    "tool_result": "a message of the role tool",
    "tool_use": "the message's tool_calls",
}


def instead_of(word: Any, words: Sequence[str]) -> str:
    """Return `: did you mean ...`, to be appended to a sentence; empty if no word is meant."""
    if not isinstance(word, str):
        return ""
    close = get_close_matches(word[:64].lower(), words, 1, ALIKE)
    found = _OTHER_TYPES.get(word) or (close[0] if close else None)
    return f": did you mean {found}" if found else ""


def check_names(body: Mapping[str, Any]) -> None:
    """Check the names inside of the messages, the tools and the formats.

    Raises: SandboxError for the first misspelt one.
    """
    left = COMPARED_LIMIT
    for field in ("messages", "tools", "tool_choice", "response_format"):
        for path, place, value in _objects(body.get(field), field, field):
            if left <= 0:
                return
            left -= _check(value, path, NAMES[place])


def _objects(value: Any, path: str, place: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the objects that have names: the path of each, and its place in NAMES."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _objects(item, f"{path}[{index}]", f"{place}[]")
    elif isinstance(value, Mapping) and place in NAMES:
        yield path, place, value
        for name in NAMES[place]:
            yield from _objects(value.get(name), f"{path}.{name}", f"{place}.{name}")


def _check(value: Mapping[str, Any], path: str, names: Sequence[str]) -> int:
    """Check the names of one object; return how many were compared."""
    free = [name for name in names if name not in value]
    unknown = [name for name in islice(value, NAMES_LIMIT) if name not in names]
    for name in unknown:
        if found := get_close_matches(str(name)[:64].lower(), free, 1, ALIKE):
            at = f"{path}.{str(name)[:64]}"
            message = f"`{at}` is not a parameter of the sandbox. Did you mean `{found[0]}`?"
            raise SandboxError(message, param=at, code=UNKNOWN)
    return len(unknown)
