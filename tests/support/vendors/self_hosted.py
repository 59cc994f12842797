"""Servers of one's own: vLLM, SGLang, llama.cpp, Ollama and Text Generation Inference.

Source: their own servers' code, as docs/vendors.md names it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.vendor import DONE, Reply, choice, json_reply, stream_reply, usage_of
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.openai import Body, OpenAIWire, error, prompts_of


def errors_of(*bodies: Body | tuple[int, Body]) -> Mapping[Kind, tuple[int, Body]]:
    """Return a vendor's errors: for an over-long prompt, a bad key, too many requests, a crash."""
    kinds: list[Kind] = ["too_long", "bad_key", "rate_limited", "server_error"]
    statuses = (400, 401, 429, 500)
    given = [b if isinstance(b, tuple) else (s, b) for s, b in zip(statuses, bodies, strict=True)]
    return dict(zip(kinds, given, strict=True))


class VLLMWire(OpenAIWire):
    """vLLM: usage is left out of pieces, or of one choice alone where it counts as it goes."""

    def __init__(self) -> None:
        super().__init__(
            model="org/name",
            headers={},
            parameters=None,
            errors=errors_of(
                _vllm("This model's maximum context length is 8192 tokens.", 400),
                {"error": "Unauthorized"},
                _vllm("Too many requests.", 429),
                _vllm("EngineCore encountered an issue.", 500),
            ),
            finishes=("length",),
        )

    def problems(self, body: Body) -> Iterator[Reply]:
        """Refuse a suffix and an empty prompt; anything unknown is ignored."""
        yield from super().problems(body)
        if body.get("suffix") is not None:
            yield self.invalid("suffix is not currently supported")
        if not body["prompt"]:
            yield self.invalid("Either prompt or prompt_embeds must be provided and non-empty.")

    def invalid(self, message: str, status: int = 400) -> Reply:
        """Return the vendor's refusal of a request."""
        return json_reply(_vllm(message, status), status)

    def whole(self, body: Body, said: Said, index: int) -> Body:
        """Return a choice of a whole answer."""
        return {**super().whole(body, said, index), "stop_reason": None, "token_ids": None}

    def counted(self, chunks: list[Body], usage: Body, body: Body) -> list[Body]:
        """Return the chunks; a running count is of the chunk's choice alone."""
        options = body.get("stream_options") or {}
        if not options.get("include_usage"):
            return chunks
        if options.get("continuous_usage_stats"):
            chunks = [{**chunk, "usage": _running(chunk, usage, body)} for chunk in chunks]
        return [*chunks, {**self.object(body), "choices": [], "usage": usage}]


def _vllm(message: str, code: int) -> Body:
    return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": code}}


def _running(chunk: Body, usage: Body, body: Body) -> Body:
    ended = chunk["choices"][0]["finish_reason"] is not None
    samples = prompts_of(body) * (body.get("n") or 1)
    generated = usage["completion_tokens"] // samples
    return usage_of(usage["prompt_tokens"] // prompts_of(body), generated if ended else 1)


class SGLangWire(OpenAIWire):
    """SGLang: usage is null in pieces, and has its reasoning beside the rest."""

    def __init__(self) -> None:
        super().__init__(
            model="org/name",
            headers={},
            parameters=None,
            errors=errors_of(
                _sglang("The input is longer than the model's context length.", 400),
                {"error": "Unauthorized"},
                _sglang("The request queue is full.", 429),
                _sglang("Internal server error", 500),
            ),
        )

    def problems(self, body: Body) -> Iterator[Reply]:
        """Refuse an empty prompt, and to generate nothing."""
        yield from super().problems(body)
        if not body["prompt"]:
            yield self.invalid("Prompt cannot be empty")
        if body.get("max_tokens", 16) <= 0:
            yield self.invalid("max_tokens must be positive")

    def invalid(self, message: str, status: int = 400) -> Reply:
        """Return the vendor's refusal of a request."""
        return json_reply(_sglang(message, status), status)

    def whole(self, body: Body, said: Said, index: int) -> Body:
        """Return a choice of a whole answer."""
        return {**super().whole(body, said, index), "matched_stop": None}

    def usage(self, said: Said, prompts: int, samples: int) -> Body:
        """Return the count of a call."""
        return usage_of(
            said.prompt_tokens * prompts,
            said.completion_tokens * samples,
            prompt_tokens_details=None,
            reasoning_tokens=said.reasoning_tokens * samples,
        )


def _sglang(message: str, code: int) -> Body:
    return {"object": "error", "message": message, "type": "BadRequest", "param": "", "code": code}


class LlamaCppWire(OpenAIWire):
    """llama.cpp: it ignores what it cannot do, and each choice has a count of its own.

    It is held against the real one in test_llamacpp_server.py.
    """

    def __init__(self) -> None:
        super().__init__(
            model="gguf",
            headers={},
            parameters=None,
            errors=errors_of(
                _llamacpp(
                    "request (9000 tokens) exceeds the available context size (8192 tokens), "
                    "try increasing it",
                    400,
                    "exceed_context_size_error",
                ),
                _llamacpp("Invalid API Key", 401, "authentication_error"),
                _llamacpp("Too many requests", 429),
                _llamacpp("Context size has been exceeded.", 500, "server_error"),
            ),
            finishes=("length",),
            keep_alive=b":\n\n",
        )

    def problems(self, body: Body) -> Iterator[Reply]:
        """Refuse more samples than there are slots, of which there is one."""
        if (samples := body.get("n") or 1) > 1:
            message = f"Field 'n': Value must be between 1 <= value <= 1, but got {samples}"
            yield json_reply(_llamacpp(message, 400), 400)

    def whole(self, body: Body, said: Said, index: int) -> Body:
        """Return a choice of a whole answer; its log probabilities are chat's."""
        return choice(said.text, said.finish, index, logprobs=_content(body, said.pieces()))

    def piece(self, body: Body, text: str, index: int) -> Body:
        """Return a piece of a choice."""
        return choice(text, None, index, logprobs=_content(body, [text]))

    def counted(self, chunks: list[Body], usage: Body, _: Body) -> list[Body]:
        """Return the chunks; each choice has its count on its last one, asked for or not."""
        told = {"usage": usage, "timings": {"predicted_n": usage["completion_tokens"]}}
        ended = [chunk["choices"][0]["finish_reason"] is not None for chunk in chunks]
        return [
            {**chunk, **told} if end else chunk for chunk, end in zip(chunks, ended, strict=True)
        ]

    def streamed(self, chunks: list[Body]) -> Reply:
        """Return the chunks as the vendor frames them: each further prompt begins with a null."""
        prompts = sum("usage" in chunk for chunk in chunks)
        return stream_reply(*[b"data: null\n\n"] * (prompts - 1), *chunks, DONE)

    def usage(self, said: Said, _: int, __: int) -> Body:
        """Return the count of the first choice, which stands for all of them in a whole answer."""
        return usage_of(
            said.prompt_tokens,
            said.completion_tokens,
            prompt_tokens_details={"cached_tokens": said.cached_tokens},
        )


def _llamacpp(message: str, code: int, type_: str = "invalid_request_error") -> Body:
    return {"error": {"code": code, "message": message, "type": type_}}


def _content(body: Body, tokens: list[str]) -> Body | None:
    """Return log probabilities of tokens, none of which was the likeliest; 0 asks for nothing."""
    top = [_rated(f"<{at}>", -0.25) for at in range(body.get("logprobs") or 0)]
    return {"content": [_rated(t, -0.5, top_logprobs=top) for t in tokens]} if top else None


def _rated(token: str, logprob: float, **more: Any) -> Body:
    return {"id": 1, "token": token, "bytes": list(token.encode()), "logprob": logprob, **more}


class OllamaWire(OpenAIWire):
    """Ollama: one prompt, one sample, and zeros for usage until the end."""

    def __init__(self) -> None:
        super().__init__(
            model="llama3.2:text",
            headers={},
            parameters=None,
            errors=errors_of(
                error(400, "the input length exceeds the context length", "invalid_request_error"),
                error(401, "unauthorized", "api_error"),
                error(429, "too many requests", "api_error"),
                error(500, "llama runner process has terminated", "api_error"),
            ),
            finishes=("length",),
        )

    def problems(self, body: Body) -> Iterator[Reply]:
        """Refuse a prompt that is no text, and a suffix for a model that cannot insert."""
        if not isinstance(body.get("prompt"), str):
            yield self.invalid("cannot unmarshal array into field CompletionRequest.prompt")
        if body.get("suffix") and "coder" not in body["model"]:
            yield self.invalid(f"registry.ollama.ai/{body['model']} does not support insert")

    def counted(self, chunks: list[Body], usage: Body, body: Body) -> list[Body]:
        """Return the chunks, each with zeros, and a last one with the count."""
        if not (body.get("stream_options") or {}).get("include_usage"):
            return chunks
        zeros = usage_of(0, 0)
        trailer = {**self.object(body), "choices": [], "usage": usage}
        return [*({**chunk, "usage": zeros} for chunk in chunks), trailer]

    def usage(self, said: Said, prompts: int, samples: int) -> Body:
        """Return the count of a call."""
        return usage_of(said.prompt_tokens * prompts, said.completion_tokens * samples)


class TGIWire(OpenAIWire):
    """TGI: reasons of its own, "" for none, and a count for each prompt."""

    def __init__(self) -> None:
        super().__init__(
            model="tgi",
            headers={},
            parameters=None,
            errors=errors_of(
                (422, _tgi("Input validation error: `inputs` must have less than 4096 tokens.")),
                _tgi("Unauthorized"),
                _tgi("Model is overloaded", "overloaded"),
                (424, _tgi("Request failed during generation", "generation")),
            ),
            finishes=("length",),
            keep_alive=b":\n\n",
        )

    def problems(self, body: Body) -> Iterator[Reply]:
        """Refuse a suffix, stop sequences that are no list, and more prompts than a batch."""
        if body.get("suffix") is not None:
            yield self.invalid("Suffix is not supported and can be achieved by preprocessing.", 422)
        if not isinstance(body.get("stop", []), list):
            yield self.invalid("stop: invalid type: string, expected a sequence", 422)
        if prompts_of(body) > 4:
            yield self.invalid("Number of prompts exceeds the maximum allowed batch size of 4", 422)

    def invalid(self, message: str, status: int = 422) -> Reply:
        """Return the vendor's refusal of a request."""
        return json_reply(_tgi(message), status)

    def object(self, body: Body) -> Body:
        """Return what is around the choices; there is no id."""
        return {**super().object(body), "id": "", "system_fingerprint": "3.3.5-native"}

    def whole(self, body: Body, said: Said, index: int) -> Body:
        """Return a choice of a whole answer, numbered as the last one done comes first."""
        last = prompts_of(body) - 1
        return super().whole({}, said, last - index)

    def piece(self, _: Body, text: str, index: int) -> Body:
        """Return a piece of a choice."""
        return {**super().piece({}, text, index), "finish_reason": ""}

    def ending(self, body: Body, said: Said, index: int) -> Body:
        """Return the last piece of a choice."""
        words = {"stop": "eos_token", "length": "length"}
        return {**super().ending(body, said, index), "finish_reason": words[said.finish]}

    def counted(self, chunks: list[Body], usage: Body, body: Body) -> list[Body]:
        """Return the chunks; each prompt's count is on its last one, asked for or not."""
        prompts = prompts_of(body)
        of_one = usage_of(usage["prompt_tokens"] // prompts, usage["completion_tokens"] // prompts)
        return [*chunks[:-prompts], *({**chunk, "usage": of_one} for chunk in chunks[-prompts:])]

    def usage(self, said: Said, prompts: int, samples: int) -> Body:
        """Return the count of a call."""
        return usage_of(said.prompt_tokens * prompts, said.completion_tokens * samples)

    def streamed(self, chunks: list[Body]) -> Reply:
        """Return the chunks as the vendor frames them."""
        return stream_reply(*chunks, DONE)


def _tgi(message: str, type_: str = "validation") -> Body:
    return {"error": message, "error_type": type_}


VLLM = VLLMWire()
SGLANG = SGLangWire()
LLAMACPP = LlamaCppWire()
OLLAMA = OllamaWire()
TGI = TGIWire()
