"""The vendor entry of Bedrock, and helpers to decode its responses."""

import functools
import json
from typing import Any

from app.gateways.base import Gateway
from app.gateways.families import GATEWAY_SPECS
from app.vendors.table import load_vendors
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from tests.gateways.reading import chunks_of, cut
from tests.support.vendor import Reply
from tests.support.vendors.bedrock import REGION


@functools.cache
def row(**env: str) -> Vendor:
    """Return the table's row, as an environment with these variables has it."""
    return load_vendors(None, {"AWS_REGION": REGION, **env}, GATEWAY_SPECS).find("bedrock")


def request(model: str, **more: Any) -> CompletionRequest:
    """Return a request for a model."""
    return CompletionRequest(**{"model": f"bedrock/{model}", "prompt": "Once", **more})


def sent(
    gateway: Gateway[CompletionRequest], asked: CompletionRequest, vendor: Vendor | None = None
) -> Any:
    """Return the JSON that the vendor gets."""
    return json.loads(gateway.encode(vendor or row(), asked).body)


def body_of(reply: Reply) -> bytes:
    """Return a reply's whole body."""
    return b"".join(step for step in reply.body if isinstance(step, bytes))


def streamed(
    gateway: Gateway[CompletionRequest], asked: CompletionRequest, body: bytes, packet: int = 2**20
) -> list[Completion]:
    """Return the chunks of a stream that arrives in packets of this size."""
    return chunks_of(gateway, row(), asked, cut(body, packet))


def summary(chunks: list[Completion]) -> tuple[str, list[str], Usage | None]:
    """Return a stream's text, its finish reasons, and its last usage."""
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert {choice.index for choice in choices} <= {0}
    usages = [chunk.usage for chunk in chunks if chunk.usage]
    return (
        "".join(choice.text for choice in choices),
        [choice.finish_reason for choice in choices if choice.finish_reason],
        usages[-1] if usages else None,
    )
