"""Fields of a JSON request body: each checks one value and describes itself in JSON Schema.

Types are strict: `"5"`, `5.0` and `true` are not integers, and 1 is not a boolean. null means
absent. The fields of a completion request are in `completion_fields`.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from marshmallow import ValidationError, fields

MISSING = "missing_required_parameter"
TYPE = "invalid_type"
VALUE = "invalid_value"
UNKNOWN = "unknown_parameter"

JSONSchema = dict[str, Any]


class Problem(str):
    """A message about one value, with its error code."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, sentence: str) -> "Problem":
        self = super().__new__(cls, sentence)
        self.code = code
        return self


def wrong_type(wanted: str) -> ValidationError:
    """Return the error for a value of another JSON type than `wanted`."""
    return ValidationError([Problem(TYPE, f"must be {wanted}")])


def wrong_value(sentence: str) -> ValidationError:
    """Return the error for a value of the right type that is not allowed."""
    return ValidationError([Problem(VALUE, sentence)])


def each(values: list[Any], check: Callable[[Any], Any], start: int = 0) -> list[Any]:
    """Check the items from `start` on; the error's path includes the first invalid item's index."""
    checked = []
    for index, value in enumerate(values[start:], start):
        try:
            checked.append(check(value))
        except ValidationError as exc:
            raise ValidationError({index: exc.messages}) from exc
    return checked


class Nullable(fields.Field[Any]):
    """An optional field for which null means absent."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_none=True, **kwargs)


class NumberField(Nullable):
    """A number from `low` to `high`, inclusive."""

    types: ClassVar[tuple[type, ...]] = (int, float)
    wanted = "a number"
    json_type = "number"

    def __init__(self, low: float, high: float | None = None) -> None:
        super().__init__()
        self.low = low
        self.high = high

    def json_schema(self) -> JSONSchema:
        high = {} if self.high is None else {"maximum": self.high}
        return {"type": [self.json_type, "null"], "minimum": self.low} | high

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if type(value) not in self.types:
            raise wrong_type(self.wanted)
        if value < self.low or (self.high is not None and value > self.high):
            bound = f">= {self.low}" if self.high is None else f"from {self.low} to {self.high}"
            raise wrong_value(f"must be {bound}")
        return value


class IntegerField(NumberField):
    """A number written without a decimal point."""

    types = (int,)
    wanted = "an integer"
    json_type = "integer"


class BooleanField(Nullable):
    """true or false."""

    def json_schema(self) -> JSONSchema:
        return {"type": ["boolean", "null"]}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> bool:
        if not isinstance(value, bool):
            raise wrong_type("true or false")
        return value


class StringField(Nullable):
    """Any text."""

    def json_schema(self) -> JSONSchema:
        return {"type": ["string", "null"]}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str):
            raise wrong_type("a string")
        return value
