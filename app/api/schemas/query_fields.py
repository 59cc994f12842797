"""Fields of a query string: each parses and checks one parameter, and describes itself."""

import re
from functools import cache
from typing import Any, NoReturn
from zoneinfo import available_timezones

from marshmallow import ValidationError, fields

from app.api.schemas.fields import TYPE, VALUE, JSONSchema, Problem


def fail(code: str, sentence: str) -> NoReturn:
    """Raise a ValidationError that `first_problem` can convert."""
    raise ValidationError([Problem(code, sentence)])


class Scalar(fields.Field[Any]):
    """A parameter that may be given only once."""

    def json_schema(self) -> JSONSchema:
        return {"type": "string"}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, str):
            fail(VALUE, "must be given once")
        return self.parse(value)

    def parse(self, text: str) -> Any:
        """Return the value of a text.

        Raises: ValidationError.
        """
        return text


class Integer(Scalar):
    """A whole number from `low` to `high`."""

    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.low = low
        self.high = high

    def json_schema(self) -> JSONSchema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def parse(self, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", text):
            fail(TYPE, "must be an integer")
        # More digits than any bound has: int() raises its own error for thousands of digits.
        if len(text) > 15 or not self.low <= int(text) <= self.high:
            fail(VALUE, f"must be from {self.low} to {self.high}")
        return int(text)


class UnixSeconds(Integer):
    """A moment; the message says so, because dates and milliseconds are sent, too."""

    def parse(self, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", text):
            fail(TYPE, "must be an integer: seconds since 1970, as `date +%s` prints them")
        if re.fullmatch(r"[0-9]{13}", text):
            fail(VALUE, "must be in seconds since 1970, not in milliseconds")
        return super().parse(text)


class OneOf(Scalar):
    """One of a few words, each with its value."""

    def __init__(self, choices: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def json_schema(self) -> JSONSchema:
        default = {word for word, value in self.choices.items() if value == self.load_default}
        return {"type": "string", "enum": list(self.choices), "default": min(default)}

    def parse(self, text: str) -> Any:
        if text not in self.choices:
            words = [f"`{word}`" for word in self.choices]
            last = f" or {words[-1]}" if len(words) > 1 else words[-1]
            fail(VALUE, f"must be {', '.join(words[:-1])}{last}")
        return self.choices[text]


class Flag(Scalar):
    """`true` or `false`."""

    def json_schema(self) -> JSONSchema:
        return {"type": "boolean"}

    def parse(self, text: str) -> bool:
        if text not in ("true", "false"):
            fail(TYPE, "must be true or false")
        return text == "true"


class TimeZone(Scalar):
    """The name of a time zone in the IANA database."""

    def json_schema(self) -> JSONSchema:
        return {"type": "string", "default": self.load_default, "examples": ["Europe/Zurich"]}

    def parse(self, text: str) -> str:
        # ZoneInfo would treat any text as a path, and not every file there is a zone.
        if text not in _zones():
            fail(VALUE, "must be the name of a time zone, for example `Europe/Zurich`")
        return text


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


class Texts(fields.Field[frozenset[str]]):
    """An array of non-empty strings."""

    def json_schema(self) -> JSONSchema:
        return {"type": "array", "items": {"type": "string", "minLength": 1}}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> frozenset[str]:
        for index, text in enumerate(value):
            if problem := self.problem(text):
                raise ValidationError({index: [Problem(VALUE, problem)]})
        return frozenset(value)

    def problem(self, text: str) -> str | None:
        """Return the message about an invalid item; None if the item is valid."""
        if not text or "\0" in text:
            return "must not be empty or contain NUL"
        return None


class Ids(Texts):
    """An array of IDs, which contain no comma: a list in one parameter would match nothing."""

    def problem(self, text: str) -> str | None:
        if "," in text:
            return "must be one ID; repeat the parameter for each of several"
        return super().problem(text)


class Models(Texts):
    """An array of `vendor/name`."""

    def json_schema(self) -> JSONSchema:
        item = {"type": "string", "pattern": "^[^/]+/.+$"}
        return {"type": "array", "items": item}

    def problem(self, text: str) -> str | None:
        vendor, _slash, name = text.partition("/")
        if not vendor or not name or "\0" in text:
            return "must be `vendor/name`, for example `openai/gpt-4o`"
        return None


class Words(Texts):
    """An array of words from a fixed list."""

    def __init__(self, choices: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def json_schema(self) -> JSONSchema:
        return {"type": "array", "items": {"type": "string", "enum": list(self.choices)}}

    def problem(self, text: str) -> str | None:
        if text in self.choices:
            return None
        more = "; repeat the parameter for each of several" if "," in text else ""
        return f"must be one of {', '.join(self.choices)}{more}"
