"""Replies as OpenAI's JSON, whole and streamed."""

import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any
from uuid import uuid4

from flask import Response

from app.sandbox.chat.answer import EchoCall, EchoReply, count_usage, reply_to
from app.sandbox.chat.request import ChatEchoRequest
from app.sandbox.knobs import MODEL
from app.sandbox.pace import aborted, frame, pause, streamed, whole

#: A delta, the log probabilities beside it, and whether it is a token.
Delta = tuple[dict[str, Any], dict[str, Any] | None, bool]


def chat_response(request: ChatEchoRequest) -> Response:
    """Return the response to a chat request."""
    replies = reply_to(request)
    if request.stream:
        return streamed(_stream(request, replies))
    completion = _head("chat.completion") | {
        "choices": [_whole(request, reply) for reply in replies],
        "usage": count_usage(request, replies),
    }
    longest = max(reply.tokens for reply in replies)
    return whole(request.knobs, completion, longest, longest)


def _whole(request: ChatEchoRequest, reply: EchoReply) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if reply.calls else "".join(reply.pieces),
        "refusal": None,
        "annotations": [],
    }
    if reply.reasoning:
        message["reasoning_content"] = "".join(reply.reasoning)
    if reply.calls:
        message["tool_calls"] = [_call(call) for call in reply.calls]
    return {
        "index": reply.index,
        "message": message,
        "logprobs": _logprobs(request, reply.pieces),
        "finish_reason": reply.finish_reason,
    }


def _stream(request: ChatEchoRequest, replies: Sequence[EchoReply]) -> Iterator[bytes]:
    """Yield the choices in parallel, one token of each at a time, then an end for each."""
    head = _head("chat.completion.chunk")
    counted = {"usage": None} if request.include_usage else {}
    sent = 0
    for row in zip_longest(*(_deltas(request, reply) for reply in replies)):
        if any(delta is not None and delta[2] for delta in row):
            if sent == request.knobs.cut_after:
                yield from aborted()
            pause(request.knobs)
            sent += 1
        for reply, delta in zip(replies, row, strict=True):
            if delta is not None:
                body = _choice(reply.index, delta[0], delta[1], None)
                yield frame(head | {"choices": [body]} | counted)
    if sent == request.knobs.cut_after:
        yield from aborted()
    for reply in replies:
        body = _choice(reply.index, {}, None, reply.finish_reason)
        yield frame(head | {"choices": [body]} | counted)
    if request.include_usage:
        yield frame(head | {"choices": [], "usage": count_usage(request, replies)})
    yield b"data: [DONE]\n\n"


def _deltas(request: ChatEchoRequest, reply: EchoReply) -> Iterator[Delta]:
    """Yield the role, the reasoning, the text, and the calls, one after another."""
    content = None if reply.calls else ""
    yield {"role": "assistant", "content": content, "refusal": None}, None, False
    for piece in reply.reasoning:
        yield {"reasoning_content": piece}, None, True
    for piece in reply.pieces:
        yield {"content": piece}, _logprobs(request, (piece,)), True
    for index, call in enumerate(reply.calls):
        begun = EchoCall(call.id, call.name, call.type, ())
        yield {"tool_calls": [{"index": index, **_call(begun)}]}, None, False
        name = "input" if call.type == "custom" else "arguments"
        for piece in call.pieces:
            yield {"tool_calls": [{"index": index, call.type: {name: piece}}]}, None, True


def _choice(
    index: int, delta: dict[str, Any], logprobs: dict[str, Any] | None, reason: str | None
) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason}


def _call(call: EchoCall) -> dict[str, Any]:
    name = "input" if call.type == "custom" else "arguments"
    inner = {"name": call.name, name: "".join(call.pieces)}
    return {"id": call.id, "type": call.type, call.type: inner}


def _logprobs(request: ChatEchoRequest, pieces: Sequence[str]) -> dict[str, Any] | None:
    """Return OpenAI's log probabilities of a text. Each is 0, because an echo is certain."""
    if not request.logprobs:
        return None
    content = []
    for piece in pieces:
        token = {"token": piece, "logprob": 0.0, "bytes": list(piece.encode())}
        content.append({**token, "top_logprobs": [token] if request.top_logprobs else []})
    return {"content": content, "refusal": None}


def _head(kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": MODEL,
    }
