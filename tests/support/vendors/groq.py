"""Groq's chat."""

from collections.abc import Mapping

from tests.support.vendor import Reply
from tests.support.vendors.base import Kind
from tests.support.vendors.openai_chat import PARAMETERS, Body, ChatWire, invalid, openai_error


class GroqWire(ChatWire):
    """Groq: one sample, no more parameters than it has, and its usage told twice."""

    def check_body(self, body: Body) -> Reply | None:
        """Refuse what Groq refuses, in its words."""
        unknown = sorted(set(body) - self.parameters - {"reasoning_format"})
        if unknown:
            return invalid(f"property '{unknown[0]}' is unsupported")
        if "reasoning_format" in body and "qwen" not in body["model"]:
            return invalid("reasoning_format is not supported with this model", "reasoning_format")
        sent = {name: value for name, value in body.items() if name != "reasoning_format"}
        return super().check_body(sent)

    def counted(self, chunks: list[Body], usage: Body, body: Body) -> list[Body]:
        """Return the chunks with the usage in the last one, and in a trailer where asked for."""
        timed = {**usage, "queue_time": 0.01, "prompt_time": 0.02}
        last = {**chunks[-1], "x_groq": {"id": "req_1", "usage": timed, "seed": 7}}
        first = {**chunks[0], "x_groq": {"id": "req_1", "seed": 7}}
        return super().counted([first, *chunks[1:-1], last], timed, body)


GROQ_ERRORS: Mapping[Kind, tuple[int, Body]] = {
    "too_long": (
        400,
        openai_error(
            "Please reduce the length of the messages or completion.",
            "invalid_request_error",
            "messages",
            "context_length_exceeded",
        ),
    ),
    "bad_key": (
        401,
        {
            "error": {
                "message": "Invalid API Key",
                "type": "invalid_request_error",
                "code": "invalid_api_key",
            }
        },
    ),
    "rate_limited": (
        429,
        {
            "error": {
                "message": "Rate limit reached for model `m`.",
                "type": "tokens",
                "code": "rate_limit_exceeded",
            }
        },
    ),
    "server_error": (
        500,
        {"error": {"message": "Internal Server Error", "type": "internal_server_error"}},
    ),
}

GROQ = GroqWire(
    path="/openai/v1/chat/completions",
    model="llama-3.3-70b-versatile",
    errors=GROQ_ERRORS,
    max_n=1,
    parameters=PARAMETERS
    - {"frequency_penalty", "logit_bias", "logprobs", "presence_penalty", "top_logprobs"},
)
