"""The least value that fits a JSON Schema, with strings from a text. No I/O."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

from app.sandbox.errors import SandboxError

#: How deep a value may be: a schema that refers to itself may have no least value.
DEPTH_LIMIT = 32
#: The most items or characters that are made to reach a minimum.
LENGTH_LIMIT = 10_000
#: The most values and characters of one value, together: arrays may be in arrays.
SIZE_LIMIT = 100_000

#: What a schema raises that has something else where JSON Schema wants a number, a list, an object.
_MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def least(
    schema: Mapping[str, Any], words: Sequence[str], start: int = 0, param: str = "response_format"
) -> Any:
    """Return the least value of the schema in `param`; its strings are the words in their order.

    Objects have their required properties, arrays their least number of items. `pattern` and
    `format` are ignored.
    Raises: SandboxError if the schema is nested or demands too much, or is no JSON Schema.
    """
    source = cycle(words or ("echo",))
    for _ in range(start % max(len(words), 1)):
        next(source)
    try:
        return _Maker(schema, source).value(schema, 0)
    except _MALFORMED as exc:
        sentence = f"The schema in `{param}` is not a valid JSON Schema."
        raise SandboxError(sentence, param=param) from exc


class _Maker:
    def __init__(self, root: Mapping[str, Any], words: Iterator[str]) -> None:
        self._root = root
        self._words = words
        self._left = SIZE_LIMIT

    def value(self, schema: Any, depth: int) -> Any:
        """Return the least value of a part of the schema."""
        if depth > DEPTH_LIMIT:
            raise SandboxError(f"The schema has no value less than {DEPTH_LIMIT} levels deep.")
        self._spend(1)
        if not isinstance(schema, dict):  # `true` allows anything
            return None
        whole = self._resolved(schema)
        if "const" in whole:
            return whole["const"]
        if whole.get("enum"):
            return whole["enum"][0]
        for name in ("anyOf", "oneOf"):
            if whole.get(name):
                options = whole[name]
                real = [it for it in options if not _is_null(it)] or options
                return self.value(real[0], depth + 1)
        return self._of_type(_type_of(whole), whole, depth)

    def _of_type(self, of_type: str, schema: Mapping[str, Any], depth: int) -> Any:
        if of_type == "object":
            properties = schema.get("properties") or {}
            names = [name for name in schema.get("required") or () if isinstance(name, str)]
            return {name: self.value(properties.get(name, {}), depth + 1) for name in names}
        if of_type == "array":
            items = schema.get("items", True)
            return [self.value(items, depth + 1) for _ in range(_length(schema, "minItems"))]
        if of_type == "string":
            return self._text(schema)
        if of_type in ("integer", "number"):
            return _number(of_type, schema)
        return {"boolean": True, "null": None}.get(of_type)

    def _text(self, schema: Mapping[str, Any]) -> str:
        text, shortest = next(self._words), _length(schema, "minLength")
        while len(text) < shortest:
            text += " " + next(self._words)
        self._spend(len(text))
        longest = schema.get("maxLength")
        return text[:longest] if isinstance(longest, int) else text

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise SandboxError(f"The schema's least value is larger than {SIZE_LIMIT:,}.")

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a schema with its references and parts put together."""
        seen: list[str] = []
        while isinstance(reference := schema.get("$ref"), str):
            if reference in seen:
                raise SandboxError(f"The schema's reference `{reference[:64]}` leads to itself.")
            seen.append(reference)
            rest = {name: value for name, value in schema.items() if name != "$ref"}
            schema = {**self._found(reference), **rest}
        merged = dict(schema)
        for part in merged.pop("allOf", None) or ():
            for name, value in self._resolved(part).items():
                merged[name] = _merged(merged.get(name), value)
        return merged

    def _found(self, reference: str) -> Mapping[str, Any]:
        found: Any = self._root
        for key in reference.removeprefix("#").split("/")[1:]:
            found = found.get(key) if isinstance(found, dict) else None
        if not reference.startswith("#") or not isinstance(found, dict):
            raise SandboxError(f"The schema's reference `{reference[:64]}` leads nowhere.")
        return found


def _merged(before: Any, value: Any) -> Any:
    """Return what two parts say of one keyword."""
    if isinstance(before, dict) and isinstance(value, dict):
        return {**before, **value}
    if isinstance(before, list) and isinstance(value, list):
        return [*before, *value]
    return value


def _type_of(schema: Mapping[str, Any]) -> str:
    of_type = schema.get("type")
    if isinstance(of_type, list):
        of_type = next((it for it in of_type if it != "null"), "null")
    if isinstance(of_type, str):
        return of_type
    if "items" in schema:
        return "array"
    return "object" if "properties" in schema or "required" in schema else "string"


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _length(schema: Mapping[str, Any], name: str) -> int:
    length = schema.get(name)
    return min(length, LENGTH_LIMIT) if isinstance(length, int) else 0


def _number(of_type: str, schema: Mapping[str, Any]) -> int | float:
    """Return the number nearest to 0 within the schema's bounds."""
    step = schema.get("multipleOf", 1)
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if (above := schema.get("exclusiveMinimum")) is not None:
        low = max(low, above + step)
    if (below := schema.get("exclusiveMaximum")) is not None:
        high = min(high, below - step)
    number: int | float = min(max(0, low), high)
    return math.ceil(number) if of_type == "integer" else number
