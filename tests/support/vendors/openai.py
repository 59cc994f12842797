"""OpenAI's native text completions, which others took after."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.vocabulary.completion import PARAMETERS
from tests.support.vendor import (
    DONE,
    Asked,
    Reply,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)
from tests.support.vendors.base import Kind, Said

Body = dict[str, Any]

KNOWN = frozenset({"model", "prompt", "stream", "stream_options", *PARAMETERS})


def error(status: int, message: str, type_: str, code: str | None = None) -> tuple[int, Body]:
    """Return a status and OpenAI's error body."""
    return status, {"error": {"message": message, "type": type_, "param": None, "code": code}}


ERRORS: Mapping[Kind, tuple[int, Body]] = {
    "too_long": error(
        400,
        "This model's maximum context length is 4097 tokens.",
        "invalid_request_error",
        "context_length_exceeded",
    ),
    "bad_key": error(
        401, "Incorrect API key provided: sk-test.", "invalid_request_error", "invalid_api_key"
    ),
    "rate_limited": error(429, "Rate limit reached.", "requests", "rate_limit_exceeded"),
    "server_error": error(500, "The server had an error.", "server_error"),
}


@dataclass
class OpenAIWire:
    """An endpoint at `path`, which takes these `headers` and `parameters` (None: any at all)."""

    path: str = "/v1/completions"
    model: str = "m"
    headers: Mapping[str, str] = field(default_factory=lambda: {"authorization": "Bearer sk-test"})
    parameters: frozenset[str] | None = KNOWN
    errors: Mapping[Kind, tuple[int, Body]] = field(default_factory=lambda: ERRORS)
    finishes: tuple[str, ...] = ("length", "content_filter")
    keep_alive: bytes = b""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what the vendor refuses."""
        if asked.path != self.path:
            return self.invalid("Unknown request URL", 404)
        if any(asked.headers.get(name) != value for name, value in self.headers.items()):
            return self.refuse(asked, "bad_key")
        return next(self.problems(asked.body), None)

    def problems(self, body: Body) -> Iterator[Reply]:
        """Yield a refusal for everything that is wrong with a body."""
        unknown = sorted(body.keys() - (self.parameters or body.keys()))
        if unknown:
            yield self.invalid(f"Unrecognized request argument supplied: {unknown[0]}")
        if "stream_options" in body and not body.get("stream"):
            yield self.invalid("stream_options is only allowed when stream is true")

    def invalid(self, message: str, status: int = 400) -> Reply:
        """Return the vendor's refusal of a request."""
        return json_reply(error(status, message, "invalid_request_error")[1], status)

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer every prompt with `n` samples."""
        body = asked.body
        n = body.get("n") or 1
        indices = range(prompts_of(body) * n)
        usage = self.usage(said, len(indices) // n, len(indices))
        if not body.get("stream"):
            whole = [self.whole(body, said, index) for index in indices]
            return json_reply({**self.object(body), "choices": whole, "usage": usage})
        pieces = [self.piece(body, text, index) for text in said.pieces() for index in indices]
        pieces += [self.ending(body, said, index) for index in indices]
        chunks = [{**self.object(body), "choices": [piece]} for piece in pieces]
        return self.streamed(self.counted(chunks, usage, body))

    def object(self, _: Body) -> Body:
        """Return what is around the choices."""
        return body_of()

    def whole(self, body: Body, said: Said, index: int) -> Body:
        """Return a choice of a whole answer."""
        return choice(said.text, said.finish, index, logprobs=_logprobs(body, said.pieces()))

    def piece(self, body: Body, text: str, index: int) -> Body:
        """Return a piece of a choice."""
        return choice(text, None, index, logprobs=_logprobs(body, [text]))

    def ending(self, _: Body, said: Said, index: int) -> Body:
        """Return the last piece of a choice."""
        return choice("", said.finish, index)

    def counted(self, chunks: list[Body], usage: Body, body: Body) -> list[Body]:
        """Return the chunks with the usage where the vendor puts it."""
        if not (body.get("stream_options") or {}).get("include_usage"):
            return chunks
        trailer = {**self.object(body), "choices": [], "usage": usage}
        return [*({**chunk, "usage": None} for chunk in chunks), trailer]

    def streamed(self, chunks: list[Body]) -> Reply:
        """Return the chunks as the vendor frames them."""
        return stream_reply(*chunks, DONE)

    def usage(self, said: Said, prompts: int, samples: int) -> Body:
        """Return the count of a call."""
        return usage_of(
            said.prompt_tokens * prompts,
            said.completion_tokens * samples,
            prompt_tokens_details={"cached_tokens": said.cached_tokens * prompts},
            completion_tokens_details={"reasoning_tokens": said.reasoning_tokens * samples},
        )

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return the vendor's error of this kind."""
        status, body = self.errors[kind]
        reply = json_reply(body, status)
        reply.headers = {"retry-after": retry_after} if retry_after else {}
        return reply


def prompts_of(body: Body) -> int:
    """Return how many prompts a request has."""
    prompt = body["prompt"]
    several = isinstance(prompt, list) and not isinstance(prompt[0], int)
    return len(prompt) if several else 1


def _logprobs(body: Body, tokens: list[str]) -> Body | None:
    if body.get("logprobs") is None:
        return None
    starts = [sum(map(len, tokens[:at])) for at in range(len(tokens))]
    return {
        "tokens": tokens,
        "token_logprobs": [-0.5] * len(tokens),
        "top_logprobs": [{token: -0.5} for token in tokens],
        "text_offset": starts,
    }


#: What Fireworks takes of what Tollgate's callers can ask for, and what it is told unasked.
FIREWORKS_PARAMETERS = (KNOWN - {"best_of", "suffix"}) | {"context_length_exceeded_behavior"}

FIREWORKS = OpenAIWire(
    "/inference/v1/completions",
    "accounts/fireworks/models/llama-v3p1-8b",
    parameters=FIREWORKS_PARAMETERS,
    errors={
        "too_long": error(400, "The prompt is too long: 9000, max 8192.", "invalid_request_error"),
        "bad_key": error(401, "The API key you provided is invalid.", "UNAUTHORIZED"),
        "rate_limited": error(429, "Rate limit exceeded.", "rate_limit_exceeded"),
        "server_error": error(500, "Internal server error.", "internal_server_error"),
    },
    finishes=("length",),
)
