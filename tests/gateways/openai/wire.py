"""OpenAI's completions format as bytes: requests, and decoded responses."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from app.gateways.openai.completions import OpenAIGateway
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import (
    GatewayError,
)
from tests.gateways.reading import chunks_of as read
from tests.gateways.reading import cut, decode
from tests.support.vendor import body_of, event

GATEWAY = OpenAIGateway()
SECRET = "a-key-of-ours-0123"
VENDOR = Vendor(
    name="sim",
    gateway="openai",
    base_url="https://v.example/v1",
    api_key=SECRET,
    token_prompts=True,
)
ASKED = CompletionRequest(model="sim/m", prompt="hi")
STREAMED = CompletionRequest(model="sim/m", prompt="hi", stream=True)


def vendor(**changes: Any) -> Vendor:
    """Return the vendor with some keys of its entry changed."""
    fields = {name: getattr(VENDOR, name) for name in VENDOR.__dataclass_fields__}
    return Vendor(**(fields | changes))


def sent(request: CompletionRequest, to: Vendor = VENDOR) -> Any:
    """Return the body that the vendor gets."""
    return json.loads(GATEWAY.encode(to, request).body)


def decoded(body: Any, request: CompletionRequest = ASKED) -> Completion:
    """Return what becomes of a vendor's body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode(GATEWAY, VENDOR, request, raw)


def refusal(body: Any, request: CompletionRequest = ASKED) -> GatewayError:
    """Return the error that a vendor's body means."""
    with pytest.raises(GatewayError) as caught:
        decoded(body, request)
    return caught.value


def chunks_of(
    stream: Iterable[bytes], request: CompletionRequest = STREAMED, size: int | None = None
) -> list[Completion]:
    """Return the chunks of a stream that comes in these packets, or cut to `size` bytes."""
    return read(GATEWAY, VENDOR, request, cut(b"".join(stream), size))


def told(
    chunks: Iterable[Completion],
) -> tuple[dict[int, str], dict[int, str | None], Usage | None]:
    """Return a stream's texts and finish reasons by index, and its last usage."""
    texts: dict[int, str] = {}
    reasons: dict[int, str | None] = {}
    usage = None
    for chunk in chunks:
        usage = chunk.usage or usage
        for one in chunk.choices:
            texts[one.index] = texts.get(one.index, "") + one.text
            reasons[one.index] = one.finish_reason or reasons.get(one.index)
    return texts, reasons, usage


def broken(stream: Iterable[bytes], request: CompletionRequest = STREAMED) -> GatewayError:
    """Return the error in which a stream ends."""
    with pytest.raises(GatewayError) as caught:
        chunks_of(stream, request)
    return caught.value


def said(*choices: dict[str, Any], **more: Any) -> bytes:
    """Return a chunk as an event."""
    return event(body_of(*choices, **more))
