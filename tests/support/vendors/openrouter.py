"""OpenRouter's chat."""

from collections.abc import Mapping

from tests.support.vendors.base import Kind
from tests.support.vendors.openai_chat import PARAMETERS, Body, ChatWire


class OpenRouterWire(ChatWire):
    """OpenRouter: comments while it waits, and usage that always comes last."""

    def counted(self, chunks: list[Body], usage: Body, _: Body) -> list[Body]:
        """Return the chunks with the usage in a trailer, asked for or not."""
        return super().counted(chunks, usage, {"stream_options": {"include_usage": True}})


def _openrouter(code: int, message: str) -> tuple[int, Body]:
    return code, {"error": {"code": code, "message": message, "metadata": {"provider_name": "x"}}}


OPENROUTER_ERRORS: Mapping[Kind, tuple[int, Body]] = {
    "too_long": _openrouter(400, "This endpoint's maximum context length is 8192 tokens."),
    "bad_key": _openrouter(401, "No auth credentials found"),
    "rate_limited": _openrouter(429, "Rate limit exceeded"),
    "server_error": _openrouter(502, "Provider returned error"),
}

OPENROUTER = OpenRouterWire(
    path="/api/v1/chat/completions",
    model="meta-llama/llama-3.3-70b-instruct:free",
    errors=OPENROUTER_ERRORS,
    parameters=PARAMETERS - {"n"},
    keep_alive=b": OPENROUTER PROCESSING\n\n",
)
