"""Google's generateContent: the Gemini API and Vertex AI."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.vendor import Asked, Reply
from tests.support.vendors.base import Finish, Kind, Said

FINISH: Mapping[Finish, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}

BODY_FIELDS = {
    "cachedContent",
    "contents",
    "generationConfig",
    "safetySettings",
    "systemInstruction",
    "toolConfig",
    "tools",
}

#: Field of generationConfig -> least and greatest value; None where it is no number.
CONFIG_FIELDS: Mapping[str, tuple[float, float] | None] = {
    "candidateCount": (1, 8),
    "frequencyPenalty": (-2, 2),
    "logprobs": (0, 20),
    "maxOutputTokens": (1, 65536),
    "presencePenalty": (-2, 2),
    "responseLogprobs": None,
    "responseModalities": None,
    "seed": (-(2**31), 2**31 - 1),
    "stopSequences": None,
    "temperature": (0, 2),
    "thinkingConfig": None,
    "topK": (1, 1000),
    "topP": (0, 1),
}

#: Kind -> status, its word, and the message.
ERRORS: Mapping[Kind, tuple[int, str, str]] = {
    "too_long": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "bad_key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "rate_limited": (
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "server_error": (500, "INTERNAL", "An internal error has occurred. Please retry."),
}

BAD_KEY = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
    "metadata": {"service": "generativelanguage.googleapis.com"},
}


class GeminiWire:
    """The Gemini API: a key in a header, usage with every event."""

    keep_alive = b""
    #: A pattern of the path before `/models`.
    prefix = "/v1beta"
    #: Whether it leaves out an index that is 0, and usage before the last event.
    terse = False

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Google refuses."""
        if not re.fullmatch(
            self.prefix + r"/models/[\w.@%-]+:(generateContent|streamGenerateContent\?alt=sse)",
            asked.path,
        ):
            return Reply([b"<!DOCTYPE html><title>Error 404</title>"], 404, HTML, framing="length")
        return self.check_key(asked) or self.check_body(asked)

    def check_key(self, asked: Asked) -> Reply | None:
        """Refuse a wrong key, and none."""
        key = asked.headers.get("x-goog-api-key")
        if key is None:
            message = "Method doesn't allow unregistered callers."
            return self.error(asked, 403, "PERMISSION_DENIED", message)
        return None if key == "sk-test" else self.refuse(asked, "bad_key")

    def check_body(self, asked: Asked) -> Reply | None:
        """Refuse a body that Google refuses."""
        complaint = next(_complaints(asked.body), None)
        return self.error(asked, 400, "INVALID_ARGUMENT", complaint) if complaint else None

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer the prompt with `candidateCount` samples."""
        config = asked.body.get("generationConfig", {})
        indices = range(config.get("candidateCount", 1))
        if "stream" not in asked.path:
            whole = [self._candidate(i, said.text, config, said.finish) for i in indices]
            return json_answer(self._response(asked, whole, _usage(said, len(indices))))
        return Reply(
            [event(response) for response in self._responses(asked, said, config, indices)],
            200,
            {"content-type": "text/event-stream"},
        )

    def _responses(
        self, asked: Asked, said: Said, config: Mapping[str, Any], indices: range
    ) -> Iterator[dict[str, Any]]:
        so_far = {"promptTokenCount": said.prompt_tokens, "totalTokenCount": said.prompt_tokens}
        for text in said.pieces():
            pieces = [self._candidate(i, text, config) for i in indices]
            yield self._response(asked, pieces, None if self.terse else so_far)
        ends = [self._candidate(i, "", config, said.finish) for i in indices]
        yield self._response(asked, ends, _usage(said, len(indices)))

    def _candidate(
        self, index: int, text: str, config: Mapping[str, Any], finish: Finish | None = None
    ) -> dict[str, Any]:
        parts: dict[str, Any] = {"parts": [{"text": text}]} if text else {}
        candidate: dict[str, Any] = {"content": {**parts, "role": "model"}}
        if finish:
            candidate["finishReason"] = FINISH[finish]
        if index or not self.terse:
            candidate["index"] = index
        if config.get("responseLogprobs") and text:
            candidate["logprobsResult"] = _logprobs(text, config.get("logprobs", 0))
        return candidate

    def _response(
        self, asked: Asked, candidates: list[dict[str, Any]], usage: dict[str, Any] | None
    ) -> dict[str, Any]:
        model = asked.path.partition("/models/")[2].partition(":")[0]
        response: dict[str, Any] = {
            "candidates": candidates,
            "modelVersion": model,
            "responseId": "x-0aZ",
        }
        if usage is not None:
            response["usageMetadata"] = usage
        return response

    def refuse(self, asked: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return Google's error of this kind, which says in its body when to try again."""
        status, word, message = ERRORS[kind]
        details: list[Any] = [BAD_KEY] if kind == "bad_key" else []
        if retry_after:
            retry = "type.googleapis.com/google.rpc.RetryInfo"
            details.append({"@type": retry, "retryDelay": f"{retry_after}s"})
        return self.error(asked, status, word, message, details)

    def error(
        self, asked: Asked, status: int, word: str, message: str, details: list[Any] | None = None
    ) -> Reply:
        """Return an error; a stream's is in a list at Vertex AI."""
        error: dict[str, Any] = {"code": status, "message": message, "status": word}
        if details:
            error["details"] = details
        listed = self.terse and "stream" in asked.path
        return json_answer([{"error": error}] if listed else {"error": error}, status)


class VertexWire(GeminiWire):
    """Vertex AI: a project and a location in the path, an access token, errors in lists."""

    prefix = r"/v1/projects/[\w-]+/locations/[\w-]+/publishers/google"
    terse = True
    #: The contract is the same with a token as it is; signing in has tests of its own.
    overlay = 'auth = "bearer"\napi_key_env = "CONTRACT_KEY"\n'

    def check_key(self, asked: Asked) -> Reply | None:
        """Refuse a wrong access token, and none."""
        right = asked.headers.get("authorization") == "Bearer sk-test"
        return None if right else self.refuse(asked, "bad_key")

    def refuse(self, asked: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return Google's error of this kind."""
        if kind == "bad_key":
            message = "Request had invalid authentication credentials."
            return self.error(asked, 401, "UNAUTHENTICATED", message)
        return super().refuse(asked, kind, retry_after)


def _complaints(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a request, in Google's words."""
    config = body.get("generationConfig", {})
    for name in sorted({*body} - BODY_FIELDS) + sorted({*config} - {*CONFIG_FIELDS}):
        yield f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    if not body.get("contents"):
        yield "* GenerateContentRequest.contents: contents is not specified\n"
    elif not all(part.get("text") for part in body["contents"][0]["parts"]):
        yield "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n"
    for name, value in config.items():
        bounds = CONFIG_FIELDS[name]
        if bounds and not bounds[0] <= value <= bounds[1]:
            yield f"Unable to submit request because {name} is out of range."
    if len(config.get("stopSequences", [])) > 5:
        yield "Only up to 5 stop sequences are supported."
    if "logprobs" in config and not config.get("responseLogprobs"):
        yield "Logprobs is supported only with response_logprobs."


HTML = {"content-type": "text/html; charset=UTF-8"}


def json_answer(body: Any, status: int = 200) -> Reply:
    """Return a JSON answer, indented as Google does."""
    text = json.dumps(body, indent=2) + "\n"
    headers = {"content-type": "application/json; charset=UTF-8"}
    return Reply([text.encode()], status, headers, framing="length")


def event(body: Any) -> bytes:
    """Return a server-sent event."""
    return f"data: {json.dumps(body, ensure_ascii=False)}\r\n\r\n".encode()


def _usage(said: Said, samples: int) -> dict[str, Any]:
    """Return the counts: thoughts beside the candidates' tokens, cached ones in the prompt's."""
    thoughts = said.reasoning_tokens * samples
    usage = {
        "promptTokenCount": said.prompt_tokens,
        "candidatesTokenCount": said.completion_tokens * samples - thoughts,
        "totalTokenCount": said.prompt_tokens + said.completion_tokens * samples,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": said.prompt_tokens}],
    }
    if thoughts:
        usage["thoughtsTokenCount"] = thoughts
    if said.cached_tokens:
        usage["cachedContentTokenCount"] = said.cached_tokens
    return usage


def _logprobs(text: str, alternatives: int) -> dict[str, Any]:
    """Return log probabilities of a text's words, each a token, spaces in front."""
    tokens = [{"token": t, "tokenId": 7, "logProbability": -0.5} for t in Said(text).pieces()]
    result: dict[str, Any] = {"chosenCandidates": tokens}
    if alternatives:
        others = [{"token": f"~{n}", "logProbability": -1.0 - n} for n in range(alternatives - 1)]
        result["topCandidates"] = [{"candidates": [token, *others]} for token in tokens]
    return result
