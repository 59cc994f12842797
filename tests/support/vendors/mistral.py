"""Mistral: chat, and Codestral's fill in the middle, which answers as chat does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.vendor import Asked, Reply, json_reply
from tests.support.vendors.base import Kind
from tests.support.vendors.openai_chat import Body, ChatWire, refused

CHAT = frozenset(
    {
        "model",
        "messages",
        "frequency_penalty",
        "logprobs",
        "max_tokens",
        "n",
        "presence_penalty",
        "random_seed",
        "stop",
        "stream",
        "temperature",
        "top_logprobs",
        "top_p",
    }
)
FIM = frozenset(
    {
        "model",
        "prompt",
        "max_tokens",
        "random_seed",
        "stop",
        "stream",
        "suffix",
        "temperature",
        "top_p",
    }
)


def mistral_error(message: str, type_: str, code: str) -> Body:
    """Return Mistral's error body."""
    return {"object": "error", "message": message, "type": type_, "param": None, "code": code}


MISTRAL_ERRORS: Mapping[Kind, tuple[int, Any]] = {
    "too_long": (
        400,
        mistral_error("Prompt contains 40000 tokens, too large.", "invalid_request_error", "3051"),
    ),
    "bad_key": (401, {"detail": "Unauthorized"}),
    "rate_limited": (429, mistral_error("Rate limit exceeded", "rate_limited", "1300")),
    "server_error": (
        500,
        mistral_error("Service unavailable.", "internal_server_error", "1000"),
    ),
}


@dataclass
class MistralWire(ChatWire):
    """Both endpoints; usage comes with the last piece, and nobody can ask for it."""

    model: str = "mistral-large-latest"
    trails: bool = False

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Mistral refuses: fields that it does not know, with 422."""
        if asked.headers.get("authorization") != "Bearer sk-test":
            return self.refuse(asked, "bad_key")
        known = {"/v1/chat/completions": CHAT, "/v1/fim/completions": FIM}.get(asked.path)
        if known is None:
            return json_reply({"detail": "Not Found"}, 404)
        for name in sorted(set(asked.body) - known):
            return invalid(name, "extra_forbidden", "Extra inputs are not permitted")
        if not isinstance(asked.body.get("prompt", ""), str):
            return invalid("prompt", "string_type", "Input should be a valid string")
        return None

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return Mistral's error of this kind."""
        return refused(MISTRAL_ERRORS, kind, retry_after)


def invalid(field: str, type_: str, message: str) -> Reply:
    """Return the refusal of a field."""
    problem = {"type": type_, "loc": ["body", field], "msg": message, "input": 1}
    return json_reply({"object": "error", "message": {"detail": [problem]}}, 422)
