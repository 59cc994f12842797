"""Fields of a caller's JSON: each checks one value, and says in JSON Schema what it takes.

Types are strict: `"5"`, `5.0` and `true` are no integers, 1 is no boolean. null means absent.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from marshmallow import ValidationError, fields

from app.runtime.turns import give_turn
from app.vocabulary.text import TEXT_LIMIT

MISSING = "missing_required_parameter"
TYPE = "invalid_type"
VALUE = "invalid_value"

PROMPTS_LIMIT = 2048
#: Of the contract; a vendor's entry says how many of them it takes.
STOPS_LIMIT = 128
#: Token ids that are checked in one go.
TOKENS_AT_ONCE = 50_000
STREAM_FLAGS = ("include_usage", "include_obfuscation", "continuous_usage_stats")

JSONSchema = dict[str, Any]


class Problem(str):
    """A sentence about one value, with the error code that it carries to the caller."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, sentence: str) -> "Problem":
        """Return the sentence, marked with its code."""
        self = super().__new__(cls, sentence)
        self.code = code
        return self


def _wrong_type(wanted: str) -> ValidationError:
    return ValidationError([Problem(TYPE, f"must be {wanted}")])


def _wrong_value(sentence: str) -> ValidationError:
    return ValidationError([Problem(VALUE, sentence)])


def _each(values: list[Any], check: Callable[[Any], Any], start: int = 0) -> list[Any]:
    """Check every item from `start` on; the index of the first wrong one joins its error's path."""
    checked = []
    for index, value in enumerate(values[start:], start):
        try:
            checked.append(check(value))
        except ValidationError as exc:
            raise ValidationError({index: exc.messages}) from exc
    return checked


class Nullable(fields.Field[Any]):
    """An optional field for which null is the same as not being there."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_none=True, **kwargs)


class NumberField(Nullable):
    """A number within bounds, both included."""

    types: ClassVar[tuple[type, ...]] = (int, float)
    wanted = "a number"
    json_type = "number"

    def __init__(self, low: float, high: float | None = None) -> None:
        super().__init__()
        self.low = low
        self.high = high

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        high = {} if self.high is None else {"maximum": self.high}
        return {"type": [self.json_type, "null"], "minimum": self.low} | high

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if type(value) not in self.types:
            raise _wrong_type(self.wanted)
        if value < self.low or (self.high is not None and value > self.high):
            bound = f">= {self.low}" if self.high is None else f"from {self.low} to {self.high}"
            raise _wrong_value(f"must be {bound}")
        return value


class IntegerField(NumberField):
    """A number written without a point."""

    types = (int,)
    wanted = "an integer"
    json_type = "integer"


class BooleanField(Nullable):
    """true or false."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": ["boolean", "null"]}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> bool:
        if not isinstance(value, bool):
            raise _wrong_type("true or false")
        return value


class StringField(Nullable):
    """Any text."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": ["string", "null"]}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str):
            raise _wrong_type("a string")
        return value


#: vendor/name, without blanks around it.
_MODEL = r"^[^/\s][^/]*/[^/](.*\S)?$"


class ModelField(fields.Field[str]):
    """A vendor, a slash, and a name that may hold further ones."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": "string", "pattern": _MODEL, "maxLength": TEXT_LIMIT}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str):
            raise _wrong_type("a string")
        vendor, _slash, name = value.partition("/")
        if not vendor or not name or name.startswith("/") or value != value.strip():
            raise _wrong_value("must be `vendor/name`, for example `openai/gpt-4o`")
        if len(value) > TEXT_LIMIT:
            raise _wrong_value(f"must be at most {TEXT_LIMIT} characters long")
        return value


class PromptField(fields.Field[Any]):
    """A string, strings, token ids, or lists of token ids; never empty, never mixed."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        tokens = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}
        some = {"type": "array", "minItems": 1, "maxItems": PROMPTS_LIMIT}
        return {
            "oneOf": [
                {"type": "string"},
                {**some, "items": {"type": "string"}},
                tokens,
                {**some, "items": tokens},
            ]
        }

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if isinstance(value, str):
            return value
        if not isinstance(value, list):
            raise _wrong_type("a string or an array of strings")
        if not value:
            raise _wrong_value("must not be an empty array")
        if type(value[0]) is int:
            return self._tokens(value)
        if len(value) > PROMPTS_LIMIT:
            raise _wrong_value(f"must hold at most {PROMPTS_LIMIT} prompts")
        if isinstance(value[0], list):
            return tuple(_each(value, self._token_list))
        return tuple(_each(value, self._text))

    @staticmethod
    def _text(value: Any) -> str:
        if not isinstance(value, str):
            raise _wrong_type("a string, like the rest of the array")
        return value

    def _tokens(self, value: list[Any]) -> tuple[int, ...]:
        # Many at once, since a prompt may have a million; one by one to name the wrong one.
        for start in range(0, len(value), TOKENS_AT_ONCE):
            some = value[start : start + TOKENS_AT_ONCE]
            if not {int}.issuperset(map(type, some)) or min(some) < 0:
                _each(value, self._token, start)
            give_turn()
        return tuple(value)

    def _token_list(self, value: Any) -> tuple[int, ...]:
        if not isinstance(value, list):
            raise _wrong_type("an array of token ids, like the rest of the array")
        if not value:
            raise _wrong_value("must not be an empty array")
        return self._tokens(value)

    @staticmethod
    def _token(value: Any) -> int:
        if type(value) is not int:
            raise _wrong_type("a token id (an integer), like the rest of the array")
        if value < 0:
            raise _wrong_value("must be a token id >= 0")
        return value


class StopField(Nullable):
    """A text or up to STOPS_LIMIT of them, none empty; no text at all is the same as null."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        one = {"type": "string", "minLength": 1}
        some = {"type": "array", "items": one, "maxItems": STOPS_LIMIT}
        return {"oneOf": [one, some, {"type": "null"}]}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if isinstance(value, str):
            return self._sequence(value)
        if not isinstance(value, list):
            raise _wrong_type("a string or an array of strings")
        if len(value) > STOPS_LIMIT:
            raise _wrong_value(f"must hold at most {STOPS_LIMIT} sequences")
        return tuple(_each(value, self._sequence)) or None

    @staticmethod
    def _sequence(value: Any) -> str:
        if not isinstance(value, str):
            raise _wrong_type("a string")
        if not value:
            raise _wrong_value("must not be empty")
        return value


class LogitBiasField(Nullable):
    """An object of token ids to numbers."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        bias = {"type": "number", "minimum": -100, "maximum": 100}
        return {"type": ["object", "null"], "additionalProperties": bias}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong_type("an object of token ids to numbers")
        numbers = {int, float}.issuperset(map(type, value.values()))
        if numbers and (not value or (min(value.values()) >= -100 and max(value.values()) <= 100)):
            return value
        for token, bias in value.items():
            if type(bias) not in (int, float):
                raise ValidationError({token: [Problem(TYPE, "must be a number")]})
            if not -100 <= bias <= 100:
                raise ValidationError({token: [Problem(VALUE, "must be from -100 to 100")]})
        return value


class StreamOptionsField(Nullable):
    """A free map, of which we read `include_usage`."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        flag = {"type": ["boolean", "null"]}
        return {"type": ["object", "null"], "properties": dict.fromkeys(STREAM_FLAGS, flag)}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong_type("an object")
        options = {name: option for name, option in value.items() if option is not None}
        for name in STREAM_FLAGS:
            if not isinstance(options.get(name, False), bool):
                raise ValidationError({name: [Problem(TYPE, "must be true or false")]})
        return options
