"""Whether a request's body is what Amazon's service model says: types, words, patterns, sizes.

botocore itself checks less: not the words of an enumeration, nor patterns.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session

Complaints = Iterator[str]


@cache
def shape_of(operation: str) -> Any:
    """Return the shape of an operation's input."""
    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    return service.operation_model(operation).input_shape


def complaints(value: Any, shape: Any, at: str = "") -> Complaints:
    """Yield what is wrong with a value of a shape."""
    if getattr(shape, "is_document_type", False):
        return
    yield from CHECKS[shape.type_name](value, shape, at)


def _of_structure(value: Any, shape: Any, at: str) -> Complaints:
    if not isinstance(value, dict):
        yield f"Value at '{at}' should be a structure"
        return
    for name in value.keys() - shape.members.keys():
        yield f"Unexpected field type: '{at}.{name}'"
    for name in shape.required_members:
        if name not in value and shape.members[name].serialization.get("location") != "uri":
            yield f"Value null at '{at}.{name}' failed to satisfy constraint: must not be null"
    if getattr(shape, "is_tagged_union", False) and len(value) != 1:
        yield f"Exactly one member of '{at}' must be set, and not {', '.join(value) or 'none'}"
    for name in value.keys() & shape.members.keys():
        yield from complaints(value[name], shape.members[name], f"{at}.{name}".lstrip("."))


def _of_list(value: Any, shape: Any, at: str) -> Complaints:
    if not isinstance(value, list):
        yield f"Value at '{at}' should be a list"
        return
    yield from _of_size(len(value), shape, at)
    for index, item in enumerate(value):
        yield from complaints(item, shape.member, f"{at}.{index}")


def _of_map(value: Any, shape: Any, at: str) -> Complaints:
    if not isinstance(value, dict):
        yield f"Value at '{at}' should be a map"
        return
    yield from _of_size(len(value), shape, at)
    for name, item in value.items():
        yield from complaints(name, shape.key, f"{at} key")
        yield from complaints(item, shape.value, f"{at}.{name}")


def _of_string(value: Any, shape: Any, at: str) -> Complaints:
    if not isinstance(value, str):
        yield f"Value at '{at}' should be a string"
        return
    yield from _of_size(len(value), shape, at)
    if shape.enum and value not in shape.enum:
        yield f"Value '{value}' at '{at}' failed to satisfy constraint: one of {shape.enum}"
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, value):
        yield f"Value '{value}' at '{at}' failed to satisfy constraint: pattern {pattern}"


def _of_number(value: Any, shape: Any, at: str) -> Complaints:
    whole = shape.type_name in ("integer", "long")
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        yield f"Value at '{at}' should be a number"
        return
    yield from _of_size(value, shape, at)


def _of_boolean(value: Any, _: Any, at: str) -> Complaints:
    if not isinstance(value, bool):
        yield f"Value at '{at}' should be a boolean"


def _of_blob(value: Any, _: Any, at: str) -> Complaints:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError):
        yield f"Value at '{at}' should be in base64"


def _of_size(size: float, shape: Any, at: str) -> Complaints:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if (least is not None and size < least) or (most is not None and size > most):
        yield f"Value at '{at}' failed to satisfy constraint: size from {least} to {most}"


CHECKS: Mapping[str, Callable[[Any, Any, str], Complaints]] = {
    "structure": _of_structure,
    "list": _of_list,
    "map": _of_map,
    "string": _of_string,
    "integer": _of_number,
    "long": _of_number,
    "float": _of_number,
    "double": _of_number,
    "boolean": _of_boolean,
    "blob": _of_blob,
}
