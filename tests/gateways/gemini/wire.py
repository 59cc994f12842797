"""Google's generateContent as bytes: requests, and decoded responses."""

import json
from collections.abc import Iterable
from typing import Any

from app.gateways.bridge import Bridge
from app.gateways.gemini.request import GeminiGateway
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest
from tests.gateways.reading import chunks_of as read
from tests.gateways.reading import cut, decode

GATEWAY = Bridge(GeminiGateway())
SECRET = "AIzaSyA-key-of-ours-0123"
ROW = Vendor(
    name="gemini",
    gateway="gemini",
    base_url="https://g.example/v1beta",
    api_key=SECRET,
    auth="x-goog-api-key",
)


def asked(prompt: Any = "Hi", model: str = "m", **parameters: Any) -> CompletionRequest:
    """Return a request of one of Google's models."""
    return CompletionRequest(model=f"gemini/{model}", prompt=prompt, **parameters)


ASKED = asked()


def sent(request: CompletionRequest = ASKED, row: Vendor = ROW) -> Any:
    """Return the body that the vendor gets."""
    return json.loads(GATEWAY.encode(row, request).body)


def candidate(*texts: Any, finish: Any = "STOP", **more: Any) -> dict[str, Any]:
    """Return a candidate with these parts: texts, or parts as they are."""
    parts = [{"text": part} if isinstance(part, str) else part for part in texts]
    ended = {"finishReason": finish} if finish is not None else {}
    return {"content": {"parts": parts, "role": "model"}, **ended, **more}


def response(*candidates: Any, **more: Any) -> dict[str, Any]:
    """Return a response with these candidates."""
    return {
        "candidates": list(candidates),
        "modelVersion": "m-001",
        "responseId": "r1",
        **more,
    }


def decoded(body: Any, request: CompletionRequest = ASKED) -> Completion:
    """Return what becomes of a whole answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode(GATEWAY, ROW, request, raw)


def event(body: Any) -> bytes:
    """Return one event, in lines as Google ends them."""
    return f"data: {json.dumps(body, ensure_ascii=False)}\r\n\r\n".encode()


def chunks_of(
    stream: Iterable[bytes], request: CompletionRequest = ASKED, size: int | None = None
) -> list[Completion]:
    """Return the chunks of a stream that comes cut to `size` bytes, or all at once."""
    return read(GATEWAY, ROW, request, cut(b"".join(stream), size))
