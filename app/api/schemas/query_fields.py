"""Kinds of parameters in a query string, which is all text; each refuses what it is not."""

import re
from functools import cache
from typing import Any, NoReturn
from zoneinfo import available_timezones

from marshmallow import ValidationError, fields

from app.api.schemas.fields import TYPE, VALUE, JSONSchema, Problem


def refuse(code: str, sentence: str) -> NoReturn:
    """Raise ValidationError with a problem that `first_problem` understands."""
    raise ValidationError([Problem(code, sentence)])


class Scalar(fields.Field[Any]):
    """A parameter that is given once."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": "string"}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, str):
            refuse(VALUE, "must be given once")
        return self.parse(value)

    def parse(self, text: str) -> Any:
        """Return what the text says."""
        return text


class Integer(Scalar):
    """A whole number from `low` to `high`."""

    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.low = low
        self.high = high

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def parse(self, text: str) -> int:
        """Return the number."""
        if not re.fullmatch(r"-?[0-9]+", text):
            refuse(TYPE, "must be an integer")
        # Longer than any bound, and int() refuses thousands of digits with an error of its own.
        if len(text) > 15 or not self.low <= int(text) <= self.high:
            refuse(VALUE, f"must be from {self.low} to {self.high}")
        return int(text)


class OneOf(Scalar):
    """One of a few words; what each stands for is the value."""

    def __init__(self, choices: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        default = {word for word, value in self.choices.items() if value == self.load_default}
        return {"type": "string", "enum": list(self.choices), "default": min(default)}

    def parse(self, text: str) -> Any:
        """Return what the word stands for."""
        if text not in self.choices:
            words = [f"`{word}`" for word in self.choices]
            last = f" or {words[-1]}" if len(words) > 1 else words[-1]
            refuse(VALUE, f"must be {', '.join(words[:-1])}{last}")
        return self.choices[text]


class Flag(Scalar):
    """True or false, in small letters."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": "boolean"}

    def parse(self, text: str) -> bool:
        """Return the truth."""
        if text not in ("true", "false"):
            refuse(TYPE, "must be true or false")
        return text == "true"


class TimeZone(Scalar):
    """The name of a zone in the IANA database."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": "string", "default": self.load_default, "examples": ["Europe/Zurich"]}

    def parse(self, text: str) -> str:
        """Return the name; `ZoneInfo` has it."""
        # A name alone would be taken for a path, and not every file there is a zone.
        if text not in _zones():
            refuse(VALUE, "must be the name of a time zone, for example `Europe/Zurich`")
        return text


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


class Texts(fields.Field[frozenset[str]]):
    """An array of texts, none of them empty."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": "array", "items": {"type": "string", "minLength": 1}}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> frozenset[str]:
        for index, text in enumerate(value):
            if problem := self.problem(text):
                raise ValidationError({index: [Problem(VALUE, problem)]})
        return frozenset(value)

    def problem(self, text: str) -> str | None:
        """Say what is wrong with one of the texts."""
        if not text or "\0" in text:
            return "must be text, and not empty"
        return None


class Models(Texts):
    """An array of `vendor/name`."""

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        item = {"type": "string", "pattern": "^[^/]+/.+$"}
        return {"type": "array", "items": item}

    def problem(self, text: str) -> str | None:
        """Say what is wrong with one of the names."""
        vendor, _slash, name = text.partition("/")
        if not vendor or not name or "\0" in text:
            return "must be `vendor/name`, for example `openai/gpt-4o`"
        return None


class Words(Texts):
    """An array of words, all of them among a few."""

    def __init__(self, choices: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def json_schema(self) -> JSONSchema:
        """Return what it takes."""
        return {"type": "array", "items": {"type": "string", "enum": list(self.choices)}}

    def problem(self, text: str) -> str | None:
        """Say what is wrong with one of the words."""
        return None if text in self.choices else f"must be one of {', '.join(self.choices)}"
