"""DeepSeek: chat, and a beta of OpenAI's completions that fills in the middle."""

from collections.abc import Mapping

from tests.support.vendor import Asked, Reply
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.openai import OpenAIWire
from tests.support.vendors.openai_chat import (
    ERRORS,
    PARAMETERS,
    Body,
    ChatWire,
    invalid,
    openai_error,
)


class DeepSeekWire(ChatWire):
    """DeepSeek: thinks unless told not to, and sends blank lines before a whole answer."""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what DeepSeek refuses."""
        if asked.path != "/beta/completions":
            return super().check(asked)
        if asked.headers.get("authorization") != "Bearer sk-test":
            return self.refuse(asked, "bad_key")
        if not isinstance(asked.body["prompt"], str):
            return invalid("prompt: expected a string")
        unknown = sorted(set(asked.body) - FIM_PARAMETERS)
        return invalid(f"unknown field {unknown[0]}") if unknown else None

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer on the endpoint that was asked."""
        native = asked.path == "/beta/completions"
        reply = OpenAIWire().answer(asked, said) if native else super().answer(asked, said)
        if not asked.body.get("stream"):
            reply.body.insert(0, b"\n\n")
        return reply

    def opening(self, index: int) -> Body:
        """Return the first piece of a choice."""
        delta = {"role": "assistant", "content": None, "reasoning_content": ""}
        return {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}


FIM_PARAMETERS = frozenset(
    {
        "model",
        "prompt",
        "echo",
        "frequency_penalty",
        "logprobs",
        "max_tokens",
        "presence_penalty",
        "stop",
        "stream",
        "stream_options",
        "suffix",
        "temperature",
        "top_p",
    }
)

DEEPSEEK_ERRORS: Mapping[Kind, tuple[int, Body]] = {
    **ERRORS,
    "bad_key": (
        401,
        openai_error(
            "Authentication Fails, Your api key: ****test is invalid",
            "authentication_error",
            None,
            "invalid_request_error",
        ),
    ),
}

DEEPSEEK = DeepSeekWire(
    path="/beta/chat/completions",
    model="deepseek-reasoner",
    errors=DEEPSEEK_ERRORS,
    parameters=PARAMETERS - {"n", "seed", "user", "logit_bias"} | {"thinking"},
    keep_alive=b": keep-alive\n\n",
)
DEEPSEEK_FIM = DeepSeekWire(
    model="deepseek-v4-pro", errors=DEEPSEEK_ERRORS, keep_alive=b": keep-alive\n\n"
)
