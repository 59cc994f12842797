"""Amazon Bedrock's Converse and ConverseStream as a chat.

Source: botocore's service model (1.44), the API's reference, and the errors that its clients
report.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from tests.support.vendor import CUT, Asked, Reply
from tests.support.vendors.bedrock import (
    PATH,
    BedrockWire,
    error,
    event_frame,
    exception_frame,
    invalid,
    signature_is_good,
    streamed,
)
from tests.support.vendors.chat.bedrock_rules import complaints
from tests.support.vendors.chat.script import (
    Answer,
    Block,
    Call,
    Counts,
    Finish,
    Text,
    hung_up,
    sealed,
    signature,
)
from tests.support.vendors.chat.shapes import complaints as complaints_of_shape
from tests.support.vendors.chat.shapes import shape_of

STOP_REASONS: Mapping[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "guardrail_intervened",
    "tool_calls": "tool_use",
}


class BedrockChat(BedrockWire):
    """Converse, of one model."""

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Bedrock refuses."""
        found = PATH.fullmatch(asked.path)
        if found is None or not found[2].startswith("converse"):
            return error(404, "UnknownOperationException", "", None)
        if asked.headers.get("authorization") != "Bearer sk-test" and not signature_is_good(asked):
            return self.refuse(asked, "bad_key")
        if unquote(found[1]) != self.model:
            return invalid("The provided model identifier is invalid.")
        operation = "Converse" if found[2] == "converse" else "ConverseStream"
        wrong = next(complaints_of_shape(asked.body, shape_of(operation)), None)
        wrong = wrong or next(complaints(self.model, asked.body), None)
        return invalid(wrong) if wrong else None

    def says(self, asked: Asked, said: Answer) -> Reply:
        """Answer as the script says, whole or streamed."""
        if asked.path.endswith("-stream"):
            return streamed(list(_frames(said)))
        if said.breaks == "error":
            return error(503, "ServiceUnavailableException", "Bedrock is unable to process.", None)
        message = {"role": "assistant", "content": [whole(block) for block in said.blocks]}
        body = {
            "metrics": {"latencyMs": 551},
            "output": {"message": message},
            "stopReason": STOP_REASONS[said.ending],
            "usage": usage_of(said.counts),
        }
        if said.breaks:
            return hung_up(body)
        named = {"x-amzn-requestid": "00000000-1111-2222-3333-444444444444"}
        return Reply([json.dumps(body).encode()], 200, named, framing="length")


def whole(block: Block) -> dict[str, Any]:
    """Return a block of a message."""
    if isinstance(block, Text):
        return {"text": block.text}
    if isinstance(block, Call):
        return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": block.input}}
    if block.redacted:
        return {"reasoningContent": {"redactedContent": _redacted(block.text)}}
    thought = {"text": block.text, "signature": signature(block.text)}
    return {"reasoningContent": {"reasoningText": thought}}


def _redacted(text: str) -> str:
    return base64.b64encode(sealed(text).encode()).decode()


def usage_of(counts: Counts) -> dict[str, Any]:
    """Return Converse's counts: what is read from a cache or written to one is no input."""
    usage: dict[str, Any] = {
        "inputTokens": counts.prompt - counts.cached - counts.written,
        "outputTokens": counts.completion,
        "totalTokens": counts.total,
        "cacheReadInputTokens": counts.cached,
        "cacheWriteInputTokens": counts.written,
    }
    by_ttl = {"5m": counts.written - counts.written_1h, "1h": counts.written_1h}
    if counts.written:
        usage["cacheDetails"] = [{"ttl": t, "inputTokens": n} for t, n in by_ttl.items() if n]
    return usage


def _frames(said: Answer) -> Iterator[Any]:
    yield event_frame("messageStart", {"role": "assistant"})
    for index, block in enumerate(said.blocks):
        yield from _frames_of(index, block)
    if said.breaks == "error":
        message = "The system is overloaded. Try your request again."
        yield exception_frame("serviceUnavailableException", message=message)
    elif said.breaks == "hang_up":
        yield CUT
    else:
        yield event_frame("messageStop", {"stopReason": STOP_REASONS[said.ending]})
        told = {"usage": usage_of(said.counts), "metrics": {"latencyMs": 551}}
        yield event_frame("metadata", told)


def _frames_of(index: int, block: Block) -> Iterator[bytes]:
    """Yield a block's events; text and reasoning have no start."""
    at = {"contentBlockIndex": index}
    if isinstance(block, Call):
        start = {"toolUse": {"toolUseId": block.id, "name": block.name}}
        yield event_frame("contentBlockStart", {**at, "start": start})
    for delta in _deltas(block):
        yield event_frame("contentBlockDelta", {**at, "delta": delta})
    yield event_frame("contentBlockStop", at)


def _deltas(block: Block) -> list[dict[str, Any]]:
    if isinstance(block, Text):
        return [{"text": piece} for piece in block.pieces()]
    if isinstance(block, Call):
        pieces = [] if block.arguments == "{}" else block.pieces()
        return [{"toolUse": {"input": piece}} for piece in pieces]
    if block.redacted:
        return [{"reasoningContent": {"redactedContent": _redacted(block.text)}}]
    texts = [{"text": piece} for piece in Text(block.text).pieces()]
    return [{"reasoningContent": it} for it in [*texts, {"signature": signature(block.text)}]]
