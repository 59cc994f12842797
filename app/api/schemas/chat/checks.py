"""Checks of values deep inside a body; an error names the path, e.g. `messages[3].content`.

null means absent everywhere.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from app.api.schemas.fields import MISSING, TYPE, VALUE
from app.runtime.turns import give_turn
from app.vocabulary.errors import InvalidRequest, together
from app.vocabulary.errors.several import LISTED_LIMIT

#: The contract's pattern for the names of tools and schemas.
NAME = r"^[a-zA-Z0-9_-]{1,64}$"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

#: The most messages, parts and tool calls of a conversation, together: while a gateway encodes
#: them, no other greenlet runs. A message whose content is a text has one part.
ELEMENTS_LIMIT = 2**14

#: Items of a list that are checked before other greenlets get a turn: about a millisecond.
ITEMS_AT_ONCE = 500

Json = Mapping[str, Any]
T = TypeVar("T")


def refused(path: str, code: str, sentence: str) -> InvalidRequest:
    """Return the error for the value at `path`; the sentence continues after its name."""
    return InvalidRequest(f"`{path}` {sentence}.", param=path, code=code)


def wrong_type(path: str, wanted: str) -> InvalidRequest:
    """Return the error for a value of another JSON type than `wanted`."""
    return refused(path, TYPE, f"must be {wanted}")


def wrong_value(path: str, sentence: str) -> InvalidRequest:
    """Return the error for a value of the right type that is not allowed."""
    return refused(path, VALUE, sentence)


def missing(path: str) -> InvalidRequest:
    """Return the error for a required value that is absent or null."""
    return refused(path, MISSING, "is required")


def text(holder: Json, name: str, path: str) -> str:
    """Return the required string `name` of the object at `path`."""
    value = holder.get(name)
    if type(value) is not str:
        at = f"{path}.{name}"
        raise missing(at) if value is None else wrong_type(at, "a string")
    return value


def optional_text(holder: Json, name: str, path: str) -> str | None:
    """Return the string `name` of the object at `path`; None if it is absent."""
    return None if holder.get(name) is None else text(holder, name, path)


def mapping(holder: Json, name: str, path: str) -> Json:
    """Return the required object `name` of the object at `path`."""
    value = holder.get(name)
    if type(value) is not dict:
        at = f"{path}.{name}"
        raise missing(at) if value is None else wrong_type(at, "an object")
    return value


def word(holder: Json, name: str, path: str, words: Collection[str]) -> str:
    """Return the required string `name`, one of `words`."""
    value = text(holder, name, path)
    if value not in words:
        raise wrong_value(f"{path}.{name}", f"must be one of {', '.join(words)}")
    return value


def identifier(holder: Json, name: str, path: str) -> str:
    """Return the required string `name`, in the contract's pattern for names."""
    value = text(holder, name, path)
    if _NAME.fullmatch(value) is None:
        sentence = "must be 1 to 64 letters, digits, underscores and hyphens"
        raise wrong_value(f"{path}.{name}", sentence)
    return value


def optional_flag(holder: Json, name: str, path: str) -> bool | None:
    """Return the boolean `name` of the object at `path`; None if it is absent."""
    value = holder.get(name)
    if value is not None and type(value) is not bool:
        raise wrong_type(f"{path}.{name}", "true or false")
    return value


def objects(values: Any, path: str, limit: int, read: Callable[[Json, str], T]) -> tuple[T, ...]:
    """Return what `read` makes of each object of a list at `path`, and of the object's own path.

    Others get a turn meanwhile: a body may hold tens of thousands of objects.
    Raises: InvalidRequest, with the faults of all objects.
    """
    if type(values) is not list:
        raise wrong_type(path, "an array of objects")
    if len(values) > limit:
        raise wrong_value(path, f"must hold at most {limit} items, not {len(values)}")
    found, faults = [], list[InvalidRequest]()
    for index, value in enumerate(values):
        try:
            if type(value) is not dict:
                raise wrong_type(f"{path}[{index}]", "an object")
            found.append(read(value, f"{path}[{index}]"))
        except InvalidRequest as fault:
            faults.append(fault)
            if len(faults) == LISTED_LIMIT:
                break
        if index % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1:
            give_turn()
    if faults:
        raise together(faults)
    return tuple(found)


def without_nulls(holder: Json) -> Json:
    """Return an object without its null members; the same one if it has none."""
    if None not in holder.values():
        return holder
    return {name: value for name, value in holder.items() if value is not None}
