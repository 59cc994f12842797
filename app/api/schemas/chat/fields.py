"""The fields of a chat request that hold words, names, lists of words, or values read later."""

from collections.abc import Callable, Sequence
from typing import Any

from marshmallow import ValidationError

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

#: The contract's limits of `metadata`.
PAIRS_LIMIT, KEY_LIMIT, VALUE_LIMIT = 16, 64, 512


class WordField(Nullable):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = words

    def json_schema(self) -> JSONSchema:
        return {"type": ["string", "null"], "enum": [*self.words, None]}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str):
            raise wrong_type("a string")
        if value not in self.words:
            raise wrong_value(f"must be one of {', '.join(self.words)}")
        return value


class WordsField(Nullable):
    """An array of some words; an empty one means null."""

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = words

    def json_schema(self) -> JSONSchema:
        items = {"type": "string", "enum": list(self.words)}
        return {"type": ["array", "null"], "items": items, "maxItems": len(self.words)}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Sequence[str] | None:
        if not isinstance(value, list):
            raise wrong_type("an array of strings")
        if len(value) > len(self.words):
            raise wrong_value(f"must hold at most {len(self.words)} items")
        return each(value, self._word) or None

    def _word(self, value: Any) -> str:
        if value not in self.words:
            raise wrong_value(f"must be one of {', '.join(self.words)}")
        return str(value)


class ShortTextField(Nullable):
    """A text of a limited length, in characters."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def json_schema(self) -> JSONSchema:
        return {"type": ["string", "null"], "maxLength": self.limit}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str):
            raise wrong_type("a string")
        if len(value) > self.limit:
            raise wrong_value(f"must be at most {self.limit} characters long")
        return value


class MetadataField(Nullable):
    """Up to 16 pairs of texts."""

    def json_schema(self) -> JSONSchema:
        return {
            "type": ["object", "null"],
            "additionalProperties": {"type": "string", "maxLength": VALUE_LIMIT},
            "propertyNames": {"maxLength": KEY_LIMIT},
            "maxProperties": PAIRS_LIMIT,
        }

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong_type("an object of strings")
        if len(value) > PAIRS_LIMIT:
            raise wrong_value(f"must hold at most {PAIRS_LIMIT} pairs")
        for key, text in value.items():
            if len(key) > KEY_LIMIT:
                raise wrong_value(f"must have keys of at most {KEY_LIMIT} characters")
            if not isinstance(text, str):
                raise ValidationError({key: [Problem(TYPE, "must be a string")]})
            if len(text) > VALUE_LIMIT:
                sentence = f"must be at most {VALUE_LIMIT} characters long"
                raise ValidationError({key: [Problem(VALUE, sentence)]})
        return value


class LaterField(Nullable):
    """A value that `request` reads after the others, because it names paths or other fields."""

    def __init__(self, described: Callable[[], JSONSchema], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._described = described

    def json_schema(self) -> JSONSchema:
        return self._described()

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        return value
