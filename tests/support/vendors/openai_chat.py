"""OpenAI's chat completions, which others took after."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.vendor import DONE, Asked, Reply, json_reply, stream_reply, usage_of
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.openai import OpenAIWire

Body = dict[str, Any]

#: What OpenAI's chat takes of what Tollgate's callers can ask for.
PARAMETERS = frozenset(
    {
        "model",
        "messages",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "n",
        "presence_penalty",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "top_logprobs",
        "top_p",
        "user",
    }
)

NATIVE = re.compile("instruct|davinci|babbage")


def openai_error(message: str, type_: str, param: str | None, code: str | None) -> Body:
    """Return OpenAI's error body."""
    return {"error": {"message": message, "type": type_, "param": param, "code": code}}


ERRORS: Mapping[Kind, tuple[int, Body]] = {
    "too_long": (
        400,
        openai_error(
            "This model's maximum context length is 128000 tokens.",
            "invalid_request_error",
            "messages",
            "context_length_exceeded",
        ),
    ),
    "bad_key": (
        401,
        openai_error(
            "Incorrect API key provided: sk-test.", "invalid_request_error", None, "invalid_api_key"
        ),
    ),
    "rate_limited": (
        429,
        openai_error("Rate limit reached.", "requests", None, "rate_limit_exceeded"),
    ),
    "server_error": (500, openai_error("The server had an error.", "server_error", None, None)),
}


def invalid(message: str, param: str | None = None, code: str | None = None) -> Reply:
    """Return OpenAI's refusal of a request."""
    return json_reply(openai_error(message, "invalid_request_error", param, code), 400)


def refused(errors: Mapping[Kind, tuple[int, Body]], kind: Kind, retry_after: str | None) -> Reply:
    """Return a vendor's error response of this kind."""
    status, body = errors[kind]
    reply = json_reply(body, status)
    reply.headers = {"retry-after": retry_after} if retry_after else {}
    return reply


@dataclass
class ChatWire:
    """A chat endpoint at `path`.

    `trails` says whether a stream's usage is a chunk of its own, asked for with `include_usage`;
    else it comes with the last piece.
    """

    path: str = "/v1/chat/completions"
    model: str = "gpt-4o"
    parameters: frozenset[str] = PARAMETERS
    errors: Mapping[Kind, tuple[int, Body]] = field(default_factory=lambda: ERRORS)
    max_n: int = 128
    trails: bool = True
    keep_alive: bytes = b""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what the vendor refuses."""
        if asked.path != self.path:
            return json_reply(
                openai_error("Unknown request URL.", "invalid_request_error", None, "unknown_url"),
                404,
            )
        if asked.headers.get("authorization") != "Bearer sk-test":
            return self.refuse(asked, "bad_key")
        return self.check_body(asked.body)

    def check_body(self, body: Body) -> Reply | None:
        """Refuse a body that the vendor refuses."""
        return next(self.problems(body), None)

    def problems(self, body: Body) -> Iterator[Reply]:
        """Yield a refusal for everything that is wrong with a body."""
        for name in sorted(set(body) - self.parameters):
            yield invalid(f"Unrecognized request argument supplied: {name}")
        if not _is_messages(body.get("messages")):
            yield invalid("Invalid type for 'messages'.", "messages", "invalid_type")
        if not 1 <= body.get("n", 1) <= self.max_n:
            yield invalid(f"'n' : number must be at most {self.max_n}", "n")
        if "stream_options" in body and not body.get("stream"):
            yield invalid("'stream_options' is for streams.", "stream_options")
        if not isinstance(body.get("logprobs", False), bool):
            yield invalid("Invalid type for 'logprobs'.", "logprobs", "invalid_type")
        if "top_logprobs" in body and not body.get("logprobs"):
            yield invalid("'top_logprobs' takes 'logprobs'.", "top_logprobs")
        for name in ("max_tokens", "max_completion_tokens"):
            if body.get(name, 1) < 1:
                yield invalid(f"Invalid '{name}'.", name, "integer_below_min_value")

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer with `n` choices."""
        body = asked.body
        indices = range(body.get("n", 1))
        usage = self.usage(said, len(indices))
        if not body.get("stream"):
            whole = [self.whole(body, said, index) for index in indices]
            return json_reply({**_object(""), "choices": whole, "usage": usage})
        pieces = [self.opening(index) for index in indices]
        pieces += [self.piece(body, text, index) for text in said.pieces() for index in indices]
        chunks: list[Body] = [{**_object(".chunk"), "choices": [piece]} for piece in pieces]
        chunks += [
            {**_object(".chunk"), "choices": [self.ending(said, index)]} for index in indices
        ]
        return stream_reply(*self.counted(chunks, usage, body), DONE)

    def whole(self, body: Body, said: Said, index: int) -> Body:
        """Return a choice of a whole answer."""
        return {
            "index": index,
            "message": {"role": "assistant", "content": said.text, "refusal": None},
            "logprobs": _logprobs(body, said.pieces()),
            "finish_reason": said.finish,
        }

    def opening(self, index: int) -> Body:
        """Return the first piece of a choice: who speaks."""
        delta = {"role": "assistant", "content": "", "refusal": None}
        return {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}

    def piece(self, body: Body, text: str, index: int) -> Body:
        """Return a piece of a choice."""
        logprobs = _logprobs(body, [text])
        delta = {"content": text}
        return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": None}

    def ending(self, said: Said, index: int) -> Body:
        """Return the last piece of a choice."""
        return {"index": index, "delta": {}, "logprobs": None, "finish_reason": said.finish}

    def counted(self, chunks: list[Body], usage: Body, body: Body) -> list[Body]:
        """Return the chunks with the usage where the vendor puts it."""
        if not self.trails:
            return [*chunks[:-1], {**chunks[-1], "usage": usage}]
        if not (body.get("stream_options") or {}).get("include_usage"):
            return chunks
        trailer = {**_object(".chunk"), "choices": [], "usage": usage}
        return [*({**chunk, "usage": None} for chunk in chunks), trailer]

    def usage(self, said: Said, n: int) -> Body:
        """Return the count of a call."""
        return usage_of(
            said.prompt_tokens,
            said.completion_tokens * n,
            prompt_tokens_details={"cached_tokens": said.cached_tokens, "audio_tokens": 0},
            completion_tokens_details={"reasoning_tokens": said.reasoning_tokens * n},
        )

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return the vendor's error of this kind."""
        return refused(self.errors, kind, retry_after)


def _object(suffix: str) -> Body:
    return {
        "id": "chatcmpl-vendor",
        "object": f"chat.completion{suffix}",
        "created": 1_790_000_000,
        "model": "m-2026-01-01",
        "system_fingerprint": "fp_1",
    }


def _is_messages(messages: Any) -> bool:
    return isinstance(messages, list) and all(
        set(message) == {"role", "content"} and isinstance(message["content"], str)
        for message in messages
    )


def _logprobs(body: Body, pieces: list[str]) -> Body | None:
    if not body.get("logprobs"):
        return None
    alternatives: int = body.get("top_logprobs", 0)
    return {"content": [_token(piece, alternatives) for piece in pieces], "refusal": None}


def _token(piece: str, alternatives: int) -> Body:
    others = [piece, *(f"~{n}" for n in range(1, alternatives))][:alternatives]
    top = [_rated(other, -0.5 - at) for at, other in enumerate(others)]
    return {**_rated(piece, -0.5), "top_logprobs": top}


def _rated(token: str, logprob: float) -> Body:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


class OpenAIChatWire(ChatWire):
    """OpenAI itself, with both its endpoints; models of one are refused on the other."""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what OpenAI refuses."""
        is_native = bool(NATIVE.search(asked.body["model"]))
        if asked.path == "/v1/completions" and not is_native:
            return _not_here("This is a chat model and not", "completions", "chat/completions")
        if asked.path == "/v1/completions":
            return OpenAIWire().check(asked)
        if is_native:
            words = "This is not a chat model and thus not"
            return _not_here(words, "chat/completions", "completions")
        return super().check(asked)

    def check_body(self, body: Body) -> Reply | None:
        """Refuse what reasoning models refuse, beside the rest."""
        if re.match(r"o[134]|gpt-5", body["model"]) and "max_tokens" in body:
            hint = "Use 'max_completion_tokens' instead."
            return invalid(
                f"Unsupported parameter: 'max_tokens' is not supported with this model. {hint}",
                "max_tokens",
                "unsupported_parameter",
            )
        return super().check_body(body)

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer on the endpoint that was asked."""
        if asked.path == "/v1/completions":
            return OpenAIWire().answer(asked, said)
        return super().answer(asked, said)


def _not_here(words: str, here: str, there: str) -> Reply:
    message = f"{words} supported in the v1/{here} endpoint. Did you mean to use v1/{there}?"
    return json_reply(openai_error(message, "invalid_request_error", "model", None), 404)
