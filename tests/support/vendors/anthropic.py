"""Anthropic's Messages, under the versions of 2023-06-01 and 2026-10-21."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.vendor import Asked, Reply, json_reply
from tests.support.vendors.base import Finish, Kind, Said

KNOWN = {
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "top_k",
    "top_p",
}
REQUIRED = ("max_tokens", "messages", "model")
SAMPLING = ("temperature", "top_k", "top_p")

#: Families whose members take no sampling parameter, whatever the version.
FIXED = ("opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "haiku-5", "fable", "mythos")

#: Models that take a temperature or a top_p, not both.
ONE_OF_BOTH = r"claude-\w+-4-[156]"

STOP_REASONS: Mapping[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
}

ERRORS: Mapping[Kind, tuple[int, str, str]] = {
    "too_long": (
        400,
        "invalid_request_error",
        "prompt is too long: 250000 tokens > 200000 maximum",
    ),
    "bad_key": (401, "authentication_error", "invalid x-api-key"),
    "rate_limited": (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit.",
    ),
    "server_error": (500, "api_error", "Internal server error"),
}


class AnthropicWire:
    """The wire of `/v1/messages`."""

    keep_alive = b'event: ping\ndata: {"type": "ping"}\n\n'
    model = "claude-haiku-4-5"

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Anthropic refuses."""
        if asked.path != "/v1/messages":
            return error_reply(404, "not_found_error", "Not Found")
        key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "")
        if key.removeprefix("Bearer ") != "sk-test":
            return self.refuse(asked, "bad_key")
        wrong = _wrong_with(asked.headers.get("anthropic-version"), asked.body)
        return error_reply(400, "invalid_request_error", wrong) if wrong else None

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer with one message, after some thinking where there is any to be counted."""
        message: dict[str, Any] = {
            "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5-20251001",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(said, 1),
        }
        if asked.body.get("stream"):
            events = [named_event(event) for event in _events(message, said)]
            headers = {"content-type": "text/event-stream; charset=utf-8", **REQUEST_ID}
            return Reply([*events], 200, headers)
        thought = [{"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}]
        message["content"] = thought if said.reasoning_tokens else []
        message["content"] += [{"type": "text", "text": said.text}] if said.text else []
        message["stop_reason"] = STOP_REASONS[said.finish]
        message["usage"] = _usage(said, said.completion_tokens)
        return json_reply(message, 200, **REQUEST_ID)

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return Anthropic's error of this kind."""
        reply = error_reply(*ERRORS[kind])
        reply.headers = {**reply.headers, **({"retry-after": retry_after} if retry_after else {})}
        return reply


REQUEST_ID = {"request-id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def error_reply(status: int, kind: str, message: str, **more: Any) -> Reply:
    """Return an error response; `more` goes into the error."""
    return json_reply(error_body(kind, message, **more), status, **REQUEST_ID)


def error_body(kind: str, message: str, **more: Any) -> dict[str, Any]:
    """Return an error, as a response has it and as a stream's error event does."""
    error = {"type": kind, "message": message, **more}
    return {"type": "error", "error": error, "request_id": REQUEST_ID["request-id"]}


def named_event(body: Mapping[str, Any]) -> bytes:
    """Return a server-sent event with the name of its type."""
    return f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode()


def _usage(said: Said, output_tokens: int) -> dict[str, Any]:
    return {
        "input_tokens": said.prompt_tokens - said.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": said.cached_tokens,
        "output_tokens": output_tokens,
        "output_tokens_details": {"thinking_tokens": min(said.reasoning_tokens, output_tokens)},
    }


def _events(message: Mapping[str, Any], said: Said) -> list[dict[str, Any]]:
    thoughts = [
        {"type": "thinking_delta", "thinking": "Let me see."},
        {"type": "signature_delta", "signature": "c2ln"},
    ]
    texts = [{"type": "text_delta", "text": piece} for piece in said.pieces()]
    blocks = [({"type": "thinking", "thinking": "", "signature": ""}, thoughts)]
    blocks = [*(blocks if said.reasoning_tokens else []), ({"type": "text", "text": ""}, texts)]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": dict(message)}]
    for index, (start, deltas) in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "ping"},
            *({"type": "content_block_delta", "index": index, "delta": one} for one in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    ends = {"stop_reason": STOP_REASONS[said.finish], "stop_sequence": None}
    usage = _usage(said, said.completion_tokens)
    return [*events, {"type": "message_delta", "delta": ends, "usage": usage}, _STOP]


_STOP = {"type": "message_stop"}


def _wrong_with(version: str | None, body: Mapping[str, Any]) -> str | None:
    """Return what the vendor says of a request that it refuses."""
    return next(_complaints(version, body), None)


def _complaints(version: str | None, body: Mapping[str, Any]) -> Iterator[str]:
    if version not in ("2023-06-01", "2026-10-21"):
        yield "anthropic-version: header is required"
    for name in sorted(set(body) - KNOWN):
        yield f"{name}: Extra inputs are not permitted"
    for name in REQUIRED:
        if name not in body:
            yield f"{name}: Field required"
    if type(body["max_tokens"]) is not int or body["max_tokens"] < 0:
        yield "max_tokens: Input should be greater than or equal to 0"
    if any(not message["content"] for message in body["messages"]):
        yield "messages: text content blocks must be non-empty"
    if any(not stop.strip() for stop in body.get("stop_sequences", [])):
        yield "stop_sequences: each stop sequence must contain non-whitespace"
    if set(body.get("metadata", {})) - {"user_id"}:
        yield "metadata: Extra inputs are not permitted"
    yield from complaints_of_sampling(version, body)


def complaints_of_sampling(version: str | None, body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the sampling parameters."""
    told = [name for name in SAMPLING if name in body]
    fixed = any(f"claude-{family}" in body["model"] for family in FIXED)
    if told and (fixed or version == "2026-10-21"):
        yield f"`{told[0]}` is deprecated for this model."
    for name in ("temperature", "top_p"):
        if name in body and not 0 <= body[name] <= 1:
            yield f"{name}: range: 0..1"
    if "temperature" in body and "top_p" in body and re.search(ONE_OF_BOTH, body["model"]):
        yield "`temperature` and `top_p` cannot both be specified for this model."
