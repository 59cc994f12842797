"""Amazon Bedrock: Converse, InvokeModel, and the event stream's frames with their checksums."""

import base64
import json
import re
import struct
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.vendor import Asked, Reply
from tests.support.vendors.base import Finish, Kind, Said
from tests.support.vendors.bedrock_families import FAMILIES, RawFamily

ACCESS_KEY = "AKIDEXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SESSION_TOKEN = "FwoGZXIvYXdzEXAMPLE=="
REGION = "us-east-1"

PATH = re.compile(
    r"/model/([^/]+)/(converse|converse-stream|invoke|invoke-with-response-stream)", re.ASCII
)
CONFIG = {"maxTokens": (1, 2**31), "temperature": (0, 1), "topP": (0, 1), "stopSequences": None}
CONVERSE = {"messages", "inferenceConfig", "requestMetadata", "additionalModelRequestFields"}
STOP_REASONS: Mapping[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "guardrail_intervened",
}

ERRORS: Mapping[Kind, tuple[int, str, str]] = {
    "too_long": (400, "ValidationException", "Input is too long for requested model."),
    "bad_key": (
        403,
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
    ),
    "rate_limited": (
        429,
        "ThrottlingException",
        "Too many requests, please wait before trying again.",
    ),
    "server_error": (
        500,
        "InternalServerException",
        "The system encountered an unexpected error during processing. Try your request again.",
    ),
}


class BedrockWire:
    """The wire of one model: Converse, or InvokeModel in the form of the model's family."""

    keep_alive = b""

    def __init__(self, model: str = "anthropic.claude-sonnet-4-5-20250929-v1:0") -> None:
        self.model = model
        self.family = next((f for glob, f in FAMILIES.items() if glob in model), None)
        words = self.family.finishes if self.family else STOP_REASONS
        self.finishes = tuple(word for word in words if word != "stop")

    def check(self, asked: Asked) -> Reply | None:
        """Refuse what Bedrock refuses."""
        found = PATH.fullmatch(asked.path)
        if found is None:
            return error(404, "UnknownOperationException", "", None)
        if asked.headers.get("authorization") != "Bearer sk-test" and not signature_is_good(asked):
            return self.refuse(asked, "bad_key")
        if asked.headers.get("content-type", "application/json") != "application/json":
            return error(415, "UnsupportedMediaTypeException", "", None)
        if unquote(found[1]) != self.model:
            return invalid("The provided model identifier is invalid.")
        wrong = self._converse(asked) if found[2].startswith("converse") else self._invoke(asked)
        return invalid(wrong) if wrong else None

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Answer as the operation in the path does."""
        operation = asked.path.rpartition("/")[2]
        if operation == "converse":
            return self._answered(whole_message(said))
        if operation == "converse-stream":
            return streamed(message_frames(said))
        assert self.family is not None
        if operation == "invoke":
            return self._answered(
                self.family.answer(said),
                **{
                    "x-amzn-bedrock-input-token-count": str(said.prompt_tokens),
                    "x-amzn-bedrock-output-token-count": str(said.completion_tokens),
                },
            )
        return streamed([chunk_frame(chunk) for chunk in self.family.chunks(said)])

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return Bedrock's error of this kind."""
        return error(*ERRORS[kind], retry_after)

    def _answered(self, body: Any, **headers: str) -> Reply:
        named = {"x-amzn-requestid": "00000000-1111-2222-3333-444444444444", **headers}
        return Reply([json.dumps(body).encode()], 200, named, framing="length")

    def _converse(self, asked: Asked) -> str | None:
        body = asked.body
        if ":imported-model/" in self.model:
            return "This model doesn't support the Converse operation."
        for name in body.keys() - CONVERSE:
            return f"Unexpected field type: {name}"
        if [message["role"] for message in body["messages"]] != ["user"]:
            return "A conversation must start with a user message."
        (block,) = body["messages"][0]["content"]
        if not block["text"].strip():
            return "The text field in the ContentBlock object at messages.0.content.0 is blank."
        for name, value in body.get("inferenceConfig", {}).items():
            if name not in CONFIG or not _is_within(CONFIG[name], value):
                return f"Value '{value}' at 'inferenceConfig.{name}' failed to satisfy constraint."
        return None

    def _invoke(self, asked: Asked) -> str | None:
        if self.family is None:
            return malformed("#: required key [messages] not found")
        if self.family.streams is False and "stream" in asked.path:
            return "The model is unsupported for streaming."
        return _malformed_part(self.family, asked.body)


def _malformed_part(family: RawFamily, body: Mapping[str, Any]) -> str | None:
    """Return what the family's schema refuses."""
    config = body.get("textGenerationConfig", {}) if family.nested else body
    known = {family.prompt, *({"textGenerationConfig"} if family.nested else family.ranges)}
    if family.prompt not in body:
        return malformed(f"#: required key [{family.prompt}] not found")
    for name in [*(body.keys() - known), *(config.keys() - family.ranges - {family.prompt})]:
        return malformed(f"#: extraneous key [{name}] is not permitted")
    for name, bounds in family.ranges.items():
        if name in config and not _is_within(bounds, config[name]):
            return malformed(f"#/{name}: {config[name]} is out of range")
    return None


def _is_within(bounds: tuple[float, float] | None, value: Any) -> bool:
    if bounds is None:
        return isinstance(value, list) and all(isinstance(v, str) and v for v in value)
    return isinstance(value, int | float) and bounds[0] <= value <= bounds[1]


def malformed(what: str) -> str:
    """Return the sentence for a body that the model's schema refuses."""
    return f"Malformed input request: {what}, please reformat your input and try again."


def invalid(message: str) -> Reply:
    """Return a ValidationException."""
    return error(400, "ValidationException", message, None)


def error(status: int, kind: str, message: str, retry_after: str | None, **more: Any) -> Reply:
    """Return an error response; its type is in a header, with a URL behind it."""
    headers = {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/"}
    if retry_after:
        headers["retry-after"] = retry_after
    body = json.dumps({"message": message, **more}).encode()
    return Reply([body], status, headers, framing="length")


def signature_is_good(asked: Asked) -> bool:
    """Recompute the request's signature from what arrived."""
    found = re.fullmatch(
        rf"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/(\d{{8}})/{REGION}/bedrock/aws4_request, "
        r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
        asked.headers.get("authorization", ""),
    )
    if found is None or asked.headers.get("x-amz-security-token", SESSION_TOKEN) != SESSION_TOKEN:
        return False
    names = found[2].split(";")
    if not {"host", "x-amz-date"} <= set(names):
        return False
    signed = {name: asked.headers[name] for name in names}
    request = AWSRequest("POST", f"http://{signed['host']}{asked.path}", signed, asked.raw)
    request.context["timestamp"] = asked.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), "bedrock", REGION)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    same: bool = signer.signature(text, request) == found[3]
    return same


def whole_message(said: Said) -> dict[str, Any]:
    """Return Converse's answer, with what the model thought before it."""
    thought = {"reasoningText": {"text": "Let me think.", "signature": "c2ln"}}
    content = [{"reasoningContent": thought}, {"text": said.text}]
    return {
        "metrics": {"latencyMs": 551},
        "output": {"message": {"content": content, "role": "assistant"}},
        "stopReason": STOP_REASONS[said.finish],
        "usage": token_usage(said),
    }


def token_usage(said: Said) -> dict[str, int]:
    """Return Converse's counts: what is cached is no part of the input."""
    return {
        "inputTokens": said.prompt_tokens - said.cached_tokens,
        "outputTokens": said.completion_tokens,
        "totalTokens": said.prompt_tokens + said.completion_tokens,
        "cacheReadInputTokens": said.cached_tokens,
        "cacheWriteInputTokens": 0,
    }


def message_frames(said: Said) -> list[bytes]:
    """Return ConverseStream's events: one block of thought, one of text, and the counts last."""
    thought = {"reasoningContent": {"text": "Let me think."}}
    return [
        event_frame("messageStart", {"role": "assistant"}),
        event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": thought}),
        event_frame("contentBlockStop", {"contentBlockIndex": 0}),
        *(
            event_frame("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": piece}})
            for piece in said.pieces()
        ),
        event_frame("contentBlockStop", {"contentBlockIndex": 1}),
        event_frame("messageStop", {"stopReason": STOP_REASONS[said.finish]}),
        event_frame("metadata", {"usage": token_usage(said), "metrics": {"latencyMs": 551}}),
    ]


def streamed(frames: list[bytes]) -> Reply:
    """Return a streamed reply."""
    return Reply(
        list(frames),
        200,
        {
            "content-type": "application/vnd.amazon.eventstream",
            "x-amzn-bedrock-content-type": "application/json",
            "x-amzn-requestid": "00000000-1111-2222-3333-444444444444",
        },
    )


def chunk_frame(chunk: Any) -> bytes:
    """Return an InvokeModelWithResponseStream event: the model's own JSON, in base 64."""
    return event_frame("chunk", {"bytes": base64.b64encode(json.dumps(chunk).encode()).decode()})


def event_frame(kind: str, payload: Mapping[str, Any]) -> bytes:
    """Return an event; `p` pads it, so that its size tells nothing of the text."""
    headers = {
        ":event-type": kind,
        ":content-type": "application/json",
        ":message-type": "event",
    }
    return frame(headers, json.dumps({**payload, "p": "abcdefgh"}).encode())


def exception_frame(kind: str, **payload: Any) -> bytes:
    """Return an exception in the middle of a stream."""
    headers = {
        ":exception-type": kind,
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return frame(headers, json.dumps(payload).encode())


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return a frame: lengths, their checksum, headers, payload, the checksum of it all."""
    packed = b"".join(
        struct.pack("!B", len(name)) + name.encode() + b"\x07" + _sized(value.encode())
        for name, value in headers.items()
    )
    return raw_frame(packed, payload)


def raw_frame(headers: bytes, payload: bytes) -> bytes:
    """Return a frame whose headers are packed already."""
    lengths = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    body = lengths + struct.pack("!I", zlib.crc32(lengths)) + headers + payload
    return body + struct.pack("!I", zlib.crc32(body))


def _sized(value: bytes) -> bytes:
    return struct.pack("!H", len(value)) + value
