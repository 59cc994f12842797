"""LLM Engine's two wires, and Launch's tasks, all of one server: FastAPI and sse-starlette.

Source: scaleapi/llm-engine at a8236961: api/v2/completion.py, api/llms_v1.py, api/tasks_v1.py.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.vendor import Asked, Reply, json_reply
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.openai import KNOWN, Body, OpenAIWire

#: The key is the user's name, without a password; it comes in a header of its own, too.
BASIC = {"authorization": "Basic " + base64.b64encode(b"sk-test:").decode()}
HEADERS = {**BASIC, "x-api-key": "sk-test"}

ERRORS: Mapping[Kind, tuple[int, Body]] = {
    "too_long": (400, {"detail": "This model's maximum context length is 4096 tokens."}),
    "bad_key": (401, {"detail": "Could not authenticate user"}),
    "rate_limited": (429, {"detail": "Too many concurrent requests"}),
    "server_error": (500, {"detail": "Upstream service error for request_id 1f"}),
}

PING = b": ping - 2026-11-29 10:00:00.000000\r\n\r\n"


def sse(*bodies: Body) -> Reply:
    """Return events as sse-starlette frames them; what ends them is the end alone."""
    frames = [f"data: {json.dumps(body)}\r\n\r\n".encode() for body in bodies]
    return Reply([*frames], 200, {"content-type": "text/event-stream; charset=utf-8"})


def validation_error(place: str, message: str) -> Reply:
    """Return FastAPI's refusal of a body."""
    found = {"type": "value_error", "loc": ["body", place], "msg": message}
    return json_reply({"detail": [found]}, 422)


class LLMEngineWire(OpenAIWire):
    """The second wire: OpenAI's, checked with rigour; what is null is left out."""

    overlay = 'headers = { x-api-key = "sk-test" }'

    def __init__(self, path: str = "/v2/completions") -> None:
        super().__init__(
            path,
            "llama-3-1-8b",
            headers=HEADERS,
            parameters=None,  # unknown ones are dropped without a word
            errors=ERRORS,
            finishes=("length",),
            keep_alive=PING,
        )

    def problems(self, body: Body) -> Iterator[Reply]:
        """Refuse values out of OpenAI's range, and what vLLM behind it refuses."""
        if not 0 <= (body.get("logprobs") or 0) <= 5:
            yield validation_error("logprobs", "Input should be less than or equal to 5")
        if any(type(bias) is not int for bias in body.get("logit_bias", {}).values()):
            yield validation_error("logit_bias", "Input should be a valid integer")
        if body.get("suffix") is not None:
            yield json_reply({"detail": "suffix is not currently supported"}, 400)

    def invalid(self, message: str, status: int = 400) -> Reply:
        """Return the vendor's refusal of a request."""
        return json_reply({"detail": message}, status)

    def streamed(self, chunks: list[Body]) -> Reply:
        """Return the chunks as the vendor frames them."""
        return sse(*(without_nulls(chunk) for chunk in chunks))


def without_nulls(value: Any) -> Any:
    """Return JSON without the fields that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(v) for name, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


V1_PARAMETERS = {
    "prompt",
    "max_new_tokens",
    "temperature",
    "stop_sequences",
    "return_token_log_probs",
    "presence_penalty",
    "frequency_penalty",
    "top_k",
    "top_p",
    "include_stop_str_in_output",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "skip_special_tokens",
}


class LLMEngineV1Wire:
    """The first wire; it has no word for why an answer ended."""

    model = "llama-3-1-8b"
    finishes = ()
    keep_alive = PING
    overlay = LLMEngineWire.overlay

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what the vendor refuses."""
        url = urlsplit(asked.path)
        if url.path not in ("/v1/llm/completions-sync", "/v1/llm/completions-stream"):
            return json_reply({"detail": "Not Found"}, 404)
        if any(asked.headers.get(name) != value for name, value in HEADERS.items()):
            return self.refuse(asked, "bad_key")
        if parse_qs(url.query) != {"model_endpoint_name": [self.model]}:
            return json_reply({"detail": "The specified endpoint could not be found."}, 404)
        return next(self._problems(asked.body), None)

    def _problems(self, body: Body) -> Iterator[Reply]:
        for name in sorted(body.keys() - V1_PARAMETERS):
            yield validation_error(name, "it would be ignored, and the caller not know")
        if not isinstance(body.get("prompt"), str):
            yield validation_error("prompt", "Input should be a valid string")
        if type(body.get("max_new_tokens")) is not int:
            yield validation_error("max_new_tokens", "Field required")
        if not 0 <= body.get("temperature", -1) <= 1:
            yield validation_error("temperature", "Input should be between 0 and 1")
        if not isinstance(body.get("stop_sequences") or [], list):
            yield validation_error("stop_sequences", "Input should be a valid list")
        for name in ("presence_penalty", "frequency_penalty"):
            if not 0 <= (body.get(name) or 0) <= 2:
                yield validation_error(name, "Input should be between 0 and 2")

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer the prompt; the only sign of a length reached is the count."""
        body = asked.body
        cut = said.finish == "length"
        generated = body["max_new_tokens"] if cut else said.completion_tokens
        told = bool(body.get("return_token_log_probs"))
        tokens = [{"token": piece, "log_prob": -0.5} for piece in said.pieces()]
        counts = {"num_prompt_tokens": said.prompt_tokens, "num_completion_tokens": generated}
        if urlsplit(asked.path).path.endswith("sync"):
            output = {"text": said.text, **counts, "tokens": tokens if told else None}
            return json_reply({"request_id": "1f", "output": output})
        outputs: list[Body] = [
            {
                "text": token["token"],
                "finished": False,
                "num_prompt_tokens": None,
                "num_completion_tokens": at + 1,
                "token": token if told else None,
            }
            for at, token in enumerate(tokens)
        ]
        outputs.append({"text": "", "finished": True, **counts, "token": None})
        return sse(*({"request_id": "1f", "output": output, "error": None} for output in outputs))

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return the vendor's error of this kind."""
        status, body = ERRORS[kind]
        reply = json_reply(body, status)
        reply.headers = {"retry-after": retry_after} if retry_after else {}
        return reply


#: What the container behind a task takes.
CONTAINER = OpenAIWire(parameters=KNOWN - {"best_of", "suffix"}, headers={})


class LaunchWire:
    """Tasks: OpenAI's request as arguments, its answer as a result.

    `as_text` says whether the container's answer is wrapped as a text (the default of the server)
    or as JSON.
    """

    finishes = ("length", "content_filter")
    keep_alive = PING

    def __init__(self, model: str = "end_abc", *, as_text: bool = True) -> None:
        self.model = model
        self._as_text = as_text

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what the server refuses."""
        url = urlsplit(asked.path)
        if url.path not in ("/v1/sync-tasks", "/v1/streaming-tasks"):
            return json_reply({"detail": "Not Found"}, 404)
        if any(asked.headers.get(name) != value for name, value in BASIC.items()):
            return self.refuse(asked, "bad_key")
        if parse_qs(url.query) != {"model_endpoint_id": [self.model]}:
            return json_reply({"detail": "The specified endpoint could not be found."}, 404)
        if set(asked.body) != {"args"}:
            return validation_error("args", "Field required")
        return self._check_args(asked.body["args"], url.path.endswith("streaming-tasks"))

    def _check_args(self, args: Body, streamed: bool) -> Reply | None:
        if args.get("stream", False) is not streamed or next(CONTAINER.problems(args), None):
            return json_reply({"detail": "Invalid request: the container refuses it"}, 400)
        return None

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer as the container does, wrapped."""
        inner = CONTAINER.answer(Asked(CONTAINER.path, {}, asked.body["args"], 0), said)
        steps = [step for step in inner.body if isinstance(step, bytes)]
        if asked.path.startswith("/v1/sync-tasks"):
            return json_reply(_task(json.dumps(json.loads(steps[0])), self._as_text))
        events = [step.decode().removeprefix("data: ").strip() for step in steps]
        return sse(*(_task(event, self._as_text) for event in events))

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return the server's own error of this kind."""
        status, body = ERRORS[kind]
        reply = json_reply(body, status)
        reply.headers = {"retry-after": retry_after} if retry_after else {}
        return reply

    def fail(self, asked: Asked, status: int, traceback: str | None) -> Reply:
        """Return what comes of a container that answers with an error: a task that failed."""
        failure = {"status": "FAILURE", "result": None, "traceback": traceback}
        task = {**failure, "status_code": status}
        return sse(task) if "streaming" in asked.path else json_reply(task)


def _task(text: str, as_text: bool) -> Body:
    """Return a task that went well; what is no JSON (`[DONE]`) stays a text."""
    is_json = text.startswith("{")
    result: Any = json.loads(text) if is_json and not as_text else text
    task = {"status": "SUCCESS", "result": {"result": result}}
    return {**task, "traceback": None, "status_code": 200}
