"""Cohere's v2 chat."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.vendor import Asked, Reply, json_reply
from tests.support.vendors.base import Finish, Kind, Said

KNOWN = {
    "frequency_penalty",
    "k",
    "logprobs",
    "max_tokens",
    "messages",
    "model",
    "p",
    "presence_penalty",
    "seed",
    "stop_sequences",
    "stream",
    "temperature",
}
RANGES: Mapping[str, tuple[float, float]] = {
    "frequency_penalty": (0, 1),
    "p": (0.01, 0.99),
    "presence_penalty": (0, 1),
}

#: Tokens of the vendor's own instructions, which its models read with every prompt, unbilled.
PREAMBLE = 483

FINISH_REASONS: Mapping[Finish, str] = {"stop": "COMPLETE", "length": "MAX_TOKENS"}

ERRORS: Mapping[Kind, tuple[int, str]] = {
    "too_long": (400, "too many tokens: size limit exceeded by 11326 tokens."),
    "bad_key": (401, "invalid api token"),
    "rate_limited": (429, "You are past the per minute request limit, please wait."),
    "server_error": (500, "internal server error"),
}


class CohereWire:
    """The wire of `/v2/chat`."""

    keep_alive = b""
    model = "command-a-03-2025"
    finishes = ("length",)

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Cohere refuses."""
        if asked.path != "/v2/chat":
            return error_reply(404, "not found")
        if asked.headers.get("authorization") != "Bearer sk-test":
            return self.refuse(asked, "bad_key")
        return next(_complaints(asked.body), None)

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer with one message, after some thinking where there is any to be counted."""
        usage = _usage(said)
        reason = FINISH_REASONS[said.finish]
        if asked.body.get("stream"):
            events = [typed_event(event) for event in _events(said, reason, usage)]
            return Reply([*events], 200, {"content-type": "text/event-stream"})
        content = [{"type": "thinking", "thinking": "Let me see."}] if said.reasoning_tokens else []
        content += [{"type": "text", "text": said.text}] if said.text else []
        message = {"role": "assistant", "content": content}
        return json_reply({"id": ID, "finish_reason": reason, "message": message, "usage": usage})

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return Cohere's error of this kind."""
        reply = error_reply(*ERRORS[kind])
        reply.headers = {"retry-after": retry_after} if retry_after else {}
        return reply


ID = "c14c80c3-18eb-4519-9460-6c92edd8cfb4"


def error_reply(status: int, message: str) -> Reply:
    """Return an error response."""
    return json_reply({"id": ID, "message": message}, status)


def typed_event(body: Mapping[str, Any]) -> bytes:
    """Return a server-sent event; its name is that of its type."""
    return f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode()


def _complaints(body: Mapping[str, Any]) -> Iterator[Reply]:
    for name in sorted(set(body) - KNOWN):
        yield error_reply(422, f"unknown field: parameter '{name}' is not a valid field")
    if not body.get("messages") or not body["messages"][-1]["content"]:
        yield error_reply(400, "invalid request: message must be at least 1 token long.")
    for name, (low, high) in RANGES.items():
        if name in body and not low <= body[name] <= high:
            yield error_reply(400, f"invalid request: {name} must be from {low} to {high}")
    if "frequency_penalty" in body and "presence_penalty" in body:
        yield error_reply(
            400, "invalid request: cannot specify both frequency_penalty and presence_penalty."
        )


def _usage(said: Said) -> dict[str, Any]:
    billed = {
        "input_tokens": float(said.prompt_tokens),
        "output_tokens": float(said.completion_tokens),
    }
    seen = {**billed, "input_tokens": float(said.prompt_tokens + PREAMBLE)}
    return {"billed_units": billed, "tokens": seen, "cached_tokens": float(said.cached_tokens)}


def _events(said: Said, reason: str, usage: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks = [("text", said.pieces())]
    if said.reasoning_tokens:
        blocks.insert(0, ("thinking", ["Let me ", "see."]))
    events: list[dict[str, Any]] = [
        {
            "type": "message-start",
            "id": ID,
            "delta": {"message": {"role": "assistant", "content": [], "tool_plan": ""}},
        }
    ]
    for index, (kind, pieces) in enumerate(blocks):
        start = {"type": kind, kind: ""}
        events += [
            {"type": "content-start", "index": index, "delta": {"message": {"content": start}}},
            *(
                {"type": "content-delta", "index": index, "delta": {"message": {"content": said}}}
                for said in ({kind: piece} for piece in pieces)
            ),
            {"type": "content-end", "index": index},
        ]
    delta = {"finish_reason": reason, "usage": dict(usage)}
    return [*events, {"type": "message-end", "id": ID, "delta": delta}]
