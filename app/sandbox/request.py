"""A request to the sandbox, with OpenAI's checks.

Source: OpenAI's CreateCompletionRequest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from app.sandbox.errors import SandboxError
from app.sandbox.knobs import Knobs, parse_model


@dataclass(frozen=True, slots=True)
class EchoRequest:
    """A checked request."""

    knobs: Knobs
    prompts: tuple[str, ...]
    n: int
    best_of: int
    echo: bool
    max_tokens: int | None
    stop: tuple[str, ...]
    logprobs: int | None
    stream: bool
    include_usage: bool


class _Text(fields.Field[Any]):
    """A string or a list of strings, as a tuple."""

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> tuple[str, ...]:
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            raise ValidationError("Not a string or a list of strings.")
        return tuple(texts)


def _integer(lowest: int, highest: int) -> fields.Integer:
    return fields.Integer(strict=True, allow_none=True, validate=validate.Range(lowest, highest))


def _number(lowest: float, highest: float) -> fields.Float:
    return fields.Float(allow_none=True, validate=validate.Range(lowest, highest))


def _boolean() -> fields.Boolean:
    return fields.Boolean(allow_none=True, truthy={True}, falsy={False})


class _StreamOptionsSchema(Schema):
    class Meta:
        unknown = RAISE

    include_usage = _boolean()
    include_obfuscation = _boolean()


class _EchoRequestSchema(Schema):
    """OpenAI's body. Parameters without a meaning for an echo, such as `seed`, are ignored."""

    class Meta:
        unknown = RAISE

    model = fields.String(required=True)
    prompt = _Text(required=True, validate=validate.Length(1, 2048))
    best_of = _integer(0, 20)
    echo = _boolean()
    frequency_penalty = _number(-2, 2)
    logit_bias = fields.Dict(keys=fields.String(), values=_number(-100, 100), allow_none=True)
    logprobs = _integer(0, 5)
    max_tokens = _integer(0, 1_000_000)
    n = _integer(1, 128)
    presence_penalty = _number(-2, 2)
    seed = _integer(-(2**63), 2**63 - 1)
    stop = _Text(allow_none=True, validate=validate.Length(1, 4))
    stream = _boolean()
    stream_options = fields.Nested(_StreamOptionsSchema, allow_none=True)
    temperature = _number(0, 2)
    top_p = _number(0, 1)
    user = fields.String(allow_none=True)


_SCHEMA = _EchoRequestSchema()


def load_request(body: Any) -> EchoRequest:
    """Return the request in `body`, parsed JSON.

    Raises: SandboxError for the first invalid field.
    """
    try:
        loaded = _SCHEMA.load(body)
    except ValidationError as exc:
        param, message = _first(exc.messages)
        if param == "_schema":
            raise SandboxError("The body must be a JSON object.") from exc
        raise SandboxError(f"Invalid value for `{param}`: {message}", param=param) from exc
    given: dict[str, Any] = {name: value for name, value in loaded.items() if value is not None}
    n = given.get("n", 1)
    request = EchoRequest(
        knobs=parse_model(given["model"]),
        prompts=given["prompt"],
        n=n,
        best_of=given.get("best_of", n),
        echo=given.get("echo", False),
        max_tokens=given.get("max_tokens"),
        stop=tuple(text for text in given.get("stop", ()) if text),
        logprobs=given.get("logprobs"),
        stream=given.get("stream", False),
        include_usage=bool(given.get("stream_options", {}).get("include_usage")),
    )
    _check_combination(request, "stream_options" in given)
    return request


def _check_combination(request: EchoRequest, has_stream_options: bool) -> None:
    if request.best_of < request.n:
        raise SandboxError("`best_of` must be at least `n`.", param="best_of")
    if request.stream and request.best_of > request.n:
        raise SandboxError("`best_of` above `n` cannot be streamed.", param="best_of")
    if has_stream_options and not request.stream:
        raise SandboxError("`stream_options` needs `stream`.", param="stream_options")


def _first(messages: Any) -> tuple[str, str]:
    """Return the path and text of the first of marshmallow's nested messages."""
    path = ""
    while isinstance(messages, Mapping):
        key, messages = next(iter(messages.items()))
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key)
    return path, messages[0] if isinstance(messages, list) else str(messages)
