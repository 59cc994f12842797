"""Together's completions: OpenAI's in name, with differences in almost every field.

Source: together 3.1.1, types/completion.py, completion_chunk.py and completion_create_params.py.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.vendor import Reply, usage_of
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.openai import Body, OpenAIWire, error

PARAMETERS = frozenset(
    {
        "model",
        "prompt",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_tokens",
        "n",
        "presence_penalty",
        "seed",
        "stop",
        "stream",
        "temperature",
        "top_p",
        "user",
    }
)

ERRORS: Mapping[Kind, tuple[int, Body]] = {
    "too_long": error(422, "Input validation error: `inputs` must have less than 8192 tokens.", ""),
    "bad_key": error(401, "Invalid API key provided.", "invalid_request_error", "invalid_api_key"),
    "rate_limited": error(429, "You have been rate limited.", "rate_limit", None),
    "server_error": error(500, "Internal error.", "server_error", None),
}

FINISHES = {"stop": "eos", "length": "length"}


class TogetherWire(OpenAIWire):
    """One prompt a call; choices without an index, and each piece said three times over."""

    def __init__(self) -> None:
        super().__init__(
            model="meta-llama/Llama-3-70b-hf",
            parameters=PARAMETERS,
            errors=ERRORS,
            finishes=("length",),
        )

    def problems(self, body: Body) -> Iterator[Reply]:
        """Refuse lists of prompts, and stop sequences that are no list."""
        yield from super().problems(body)
        if not isinstance(body.get("prompt"), str):
            yield self.invalid("Input validation error: `prompt` must be a string.", 422)
        if not isinstance(body.get("stop", []), list):
            yield self.invalid("Input validation error: `stop` must be a list.", 422)

    def object(self, body: Body) -> Body:
        """Return what is around the choices."""
        kind = "completion.chunk" if body.get("stream") else "text.completion"
        return {"id": "nvQ-1", "object": kind, "created": 1_790_000_000, "model": "m", "prompt": []}

    def whole(self, body: Body, said: Said, index: int) -> Body:
        """Return a choice of a whole answer, which has its index in no field."""
        tokens = said.pieces()
        logprobs = {
            "token_ids": list(range(len(tokens))),
            "tokens": tokens,
            "token_logprobs": [-0.5] * len(tokens),
            "top_logprobs": dict.fromkeys(tokens, -0.5),
        }
        return {
            "text": said.text,
            "seed": 7 + index,
            "finish_reason": FINISHES[said.finish],
            "logprobs": logprobs if body.get("logprobs") is not None else None,
        }

    def piece(self, _: Body, text: str, index: int) -> Body:
        """Return a piece of a choice, which says its text twice."""
        delta = {"role": "assistant", "content": text, "token_id": 1}
        return {"index": index, "text": text, "delta": delta, "finish_reason": None}

    def counted(self, chunks: list[Body], usage: Body, _: Body) -> list[Body]:
        """Return the chunks, each with its token; the usage comes with the last piece, unasked."""
        told: list[Body] = [{**c, "token": _token(c["choices"][0]), "usage": None} for c in chunks]
        return [*told[:-1], {**told[-1], "usage": usage}]

    def ending(self, body: Body, said: Said, index: int) -> Body:
        """Return the last piece of a choice, which may have text, too."""
        return {**self.piece(body, "", index), "finish_reason": FINISHES[said.finish]}

    def usage(self, said: Said, prompts: int, samples: int) -> Body:
        """Return the count of a call."""
        cached: dict[str, Any] = {"cached_tokens": said.cached_tokens}
        return usage_of(said.prompt_tokens * prompts, said.completion_tokens * samples, **cached)


def _token(choice: Body) -> Body:
    return {"id": 1, "text": choice["text"], "logprob": -0.5, "special": not choice["text"]}


TOGETHER = TogetherWire()
