"""A request to the sandbox, with OpenAI's checks.

Source: OpenAI's CreateCompletionRequest.
"""

from dataclasses import dataclass
from typing import Any

from marshmallow import RAISE, Schema, fields, validate

from app.sandbox.errors import SandboxError
from app.sandbox.fields import StreamOptionsSchema, Text, boolean, integer, loaded, number
from app.sandbox.knobs import CHAT_KNOBS, Knobs, parse_model


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


class _EchoRequestSchema(Schema):
    """OpenAI's body. Parameters without a meaning for an echo, such as `seed`, are ignored."""

    class Meta:
        unknown = RAISE

    model = fields.String(required=True)
    prompt = Text(required=True, validate=validate.Length(1, 2048))
    best_of = integer(0, 20)
    echo = boolean()
    frequency_penalty = number(-2, 2)
    logit_bias = fields.Dict(keys=fields.String(), values=number(-100, 100), allow_none=True)
    logprobs = integer(0, 5)
    max_tokens = integer(0, 1_000_000)
    n = integer(1, 128)
    presence_penalty = number(-2, 2)
    seed = integer(-(2**63), 2**63 - 1)
    stop = Text(allow_none=True, validate=validate.Length(1, 4))
    stream = boolean()
    stream_options = fields.Nested(StreamOptionsSchema, allow_none=True)
    temperature = number(0, 2)
    top_p = number(0, 1)
    user = fields.String(allow_none=True)


_SCHEMA = _EchoRequestSchema()


def load_request(body: Any) -> EchoRequest:
    """Return the request in `body`, parsed JSON.

    Raises: SandboxError for the first invalid field.
    """
    given = loaded(_SCHEMA, body)
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
    for knob in CHAT_KNOBS:
        if getattr(request.knobs, knob) is not None:
            raise SandboxError(f"The parameter `{knob}` works only in chat.", param="model")
    if request.best_of < request.n:
        raise SandboxError("`best_of` must be at least `n`.", param="best_of")
    if request.stream and request.best_of > request.n:
        raise SandboxError("`best_of` above `n` cannot be streamed.", param="best_of")
    if has_stream_options and not request.stream:
        raise SandboxError("`stream_options` needs `stream`.", param="stream_options")
