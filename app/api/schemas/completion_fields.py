"""The fields of a completion request that only it has: model, prompt, stop, biases, options."""

from typing import Any

from marshmallow import ValidationError, fields

from app.api.schemas.fields import (
    TYPE,
    VALUE,
    JSONSchema,
    Nullable,
    Problem,
    each,
    wrong_type,
    wrong_value,
)
from app.runtime.turns import give_turn
from app.vocabulary.text import TEXT_LIMIT

PROMPTS_LIMIT = 2048
#: The API's limit; a vendor's entry has the vendor's own.
STOPS_LIMIT = 128
#: Token ids that are checked at once.
TOKENS_AT_ONCE = 50_000
STREAM_FLAGS = ("include_usage", "include_obfuscation", "continuous_usage_stats")

#: vendor/name, without surrounding white space.
_MODEL = r"^[^/\s][^/]*/[^/](.*\S)?$"


class ModelField(fields.Field[str]):
    """`vendor/name`; the name may contain slashes."""

    def json_schema(self) -> JSONSchema:
        return {"type": "string", "pattern": _MODEL, "maxLength": TEXT_LIMIT}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str):
            raise wrong_type("a string")
        vendor, _slash, name = value.partition("/")
        if not vendor or not name or name.startswith("/") or value != value.strip():
            raise wrong_value("must be `vendor/name`, for example `openai/gpt-4o`")
        if len(value) > TEXT_LIMIT:
            raise wrong_value(f"must be at most {TEXT_LIMIT} characters long")
        return value


class PromptField(fields.Field[Any]):
    """A string, strings, token ids, or lists of token ids; arrays are not empty and not mixed."""

    def json_schema(self) -> JSONSchema:
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
            raise wrong_type("a string or an array of strings")
        if not value:
            raise wrong_value("must not be an empty array")
        if type(value[0]) is int:
            return self._tokens(value)
        if len(value) > PROMPTS_LIMIT:
            raise wrong_value(f"must hold at most {PROMPTS_LIMIT} prompts")
        if isinstance(value[0], list):
            return tuple(each(value, self._token_list))
        if isinstance(value[0], dict) and "role" in value[0]:
            raise wrong_type(
                "text, and these are messages: send them as `messages` to `/v5/chat/completions`"
            )
        return tuple(each(value, self._text))

    @staticmethod
    def _text(value: Any) -> str:
        if not isinstance(value, str):
            raise wrong_type("a string, like the rest of the array")
        return value

    def _tokens(self, value: list[Any]) -> tuple[int, ...]:
        # Many at once: a prompt may have a million. One by one only to name the invalid one.
        for start in range(0, len(value), TOKENS_AT_ONCE):
            some = value[start : start + TOKENS_AT_ONCE]
            if not {int}.issuperset(map(type, some)) or min(some) < 0:
                each(value, self._token, start)
            give_turn()
        return tuple(value)

    def _token_list(self, value: Any) -> tuple[int, ...]:
        if not isinstance(value, list):
            raise wrong_type("an array of token ids, like the rest of the array")
        if not value:
            raise wrong_value("must not be an empty array")
        return self._tokens(value)

    @staticmethod
    def _token(value: Any) -> int:
        if type(value) is not int:
            raise wrong_type("a token id (an integer), like the rest of the array")
        if value < 0:
            raise wrong_value("must be a token id >= 0")
        return value


class StopField(Nullable):
    """A string or up to STOPS_LIMIT strings, none empty; an empty array means null."""

    def json_schema(self) -> JSONSchema:
        one = {"type": "string", "minLength": 1}
        some = {"type": "array", "items": one, "maxItems": STOPS_LIMIT}
        return {"oneOf": [one, some, {"type": "null"}]}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if isinstance(value, str):
            return self._sequence(value)
        if not isinstance(value, list):
            raise wrong_type("a string or an array of strings")
        if len(value) > STOPS_LIMIT:
            raise wrong_value(f"must hold at most {STOPS_LIMIT} sequences")
        return tuple(each(value, self._sequence)) or None

    @staticmethod
    def _sequence(value: Any) -> str:
        if not isinstance(value, str):
            raise wrong_type("a string")
        if not value:
            raise wrong_value("must not be empty")
        return value


class LogitBiasField(Nullable):
    """An object that maps token ids to numbers."""

    def json_schema(self) -> JSONSchema:
        bias = {"type": "number", "minimum": -100, "maximum": 100}
        return {"type": ["object", "null"], "additionalProperties": bias}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong_type("an object of token ids to numbers")
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
    """An object; STREAM_FLAGS are checked, other members are forwarded."""

    def json_schema(self) -> JSONSchema:
        flag = {"type": ["boolean", "null"]}
        return {"type": ["object", "null"], "properties": dict.fromkeys(STREAM_FLAGS, flag)}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong_type("an object")
        options = {name: option for name, option in value.items() if option is not None}
        for name in STREAM_FLAGS:
            if not isinstance(options.get(name, False), bool):
                raise ValidationError({name: [Problem(TYPE, "must be true or false")]})
        return options
