"""OpenAI's native text completions."""

from collections.abc import Mapping
from typing import Any

from app.completion import PARAMETERS
from tests.vendor import (
    DONE,
    Asked,
    Reply,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)
from tests.vendors.base import Kind, Said

KNOWN = {"model", "prompt", "stream", "stream_options", *PARAMETERS}

ERRORS: Mapping[Kind, tuple[int, dict[str, Any]]] = {
    "too_long": (
        400,
        {
            "message": "This model's maximum context length is 4097 tokens.",
            "type": "invalid_request_error",
            "param": "prompt",
            "code": "context_length_exceeded",
        },
    ),
    "bad_key": (
        401,
        {
            "message": "Incorrect API key provided: sk-test.",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_api_key",
        },
    ),
    "rate_limited": (
        429,
        {
            "message": "Rate limit reached.",
            "type": "requests",
            "param": None,
            "code": "rate_limit_exceeded",
        },
    ),
    "server_error": (
        500,
        {"message": "The server had an error.", "type": "server_error", "param": None, "code": None},
    ),
}


class OpenAIWire:
    """The wire of `/v1/completions`."""

    keep_alive = b""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what OpenAI refuses."""
        if asked.path != "/v1/completions":
            return _error(404, "Unknown request URL", "unknown_url")
        if asked.headers.get("authorization") != "Bearer sk-test":
            return self.refuse(asked, "bad_key")
        unknown = sorted(set(asked.body) - KNOWN)
        if unknown:
            return _error(400, f"Unrecognized request argument supplied: {unknown[0]}", None)
        if "stream_options" in asked.body and not asked.body.get("stream"):
            return _error(400, "stream_options is only allowed when stream is true", None)
        return None

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer every prompt with `n` samples."""
        prompt, n = asked.body["prompt"], asked.body.get("n", 1)
        several = isinstance(prompt, list) and not isinstance(prompt[0], int)
        indices = range((len(prompt) if several else 1) * n)
        usage = usage_of(
            said.prompt_tokens * (len(indices) // n),
            said.completion_tokens * len(indices),
            prompt_tokens_details={"cached_tokens": said.cached_tokens},
            completion_tokens_details={"reasoning_tokens": said.reasoning_tokens},
        )
        if not asked.body.get("stream"):
            whole = [choice(said.text, said.finish, index) for index in indices]
            return json_reply(body_of(*whole, usage=usage))
        pieces = [body_of(choice(p, None, index)) for p in said.pieces() for index in indices]
        ends = [body_of(choice("", said.finish, index)) for index in indices]
        asked_for = (asked.body.get("stream_options") or {}).get("include_usage")
        return stream_reply(*pieces, *ends, *([body_of(usage=usage)] if asked_for else []), DONE)

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return OpenAI's error of this kind."""
        status, error = ERRORS[kind]
        reply = json_reply({"error": error}, status)
        reply.headers = {"retry-after": retry_after} if retry_after else {}
        return reply


def _error(status: int, message: str, code: str | None) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return json_reply({"error": error}, status)
