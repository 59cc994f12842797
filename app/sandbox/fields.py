"""Fields of requests to the sandbox, with OpenAI's ranges; null means absent."""

from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from app.sandbox.problems import rejection


class Text(fields.Field[Any]):
    """A string or a list of strings, as a tuple."""

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> tuple[str, ...]:
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            raise ValidationError("Not a string or a list of strings.")
        return tuple(texts)


def integer(lowest: int, highest: int) -> fields.Integer:
    """Return a field of whole numbers."""
    return fields.Integer(strict=True, allow_none=True, validate=validate.Range(lowest, highest))


def number(lowest: float, highest: float) -> fields.Float:
    """Return a field of numbers."""
    return fields.Float(allow_none=True, validate=validate.Range(lowest, highest))


def boolean() -> fields.Boolean:
    """Return a field that is true or false."""
    return fields.Boolean(allow_none=True, truthy={True}, falsy={False})


class StreamOptionsSchema(Schema):
    """OpenAI's `stream_options`."""

    class Meta:
        """Other members are rejected."""

        unknown = RAISE

    include_usage = boolean()
    include_obfuscation = boolean()


_NESTED = tuple(f"stream_options.{name}" for name in StreamOptionsSchema().fields)


def loaded(schema: Schema, body: Any) -> dict[str, Any]:
    """Return the fields of `body`, parsed JSON, that are there and not null.

    Raises: SandboxError that names every invalid field.
    """
    try:
        found = schema.load(body)
    except ValidationError as exc:
        raise rejection(exc.messages, (*schema.fields, *_NESTED)) from exc
    return {name: value for name, value in found.items() if value is not None}
