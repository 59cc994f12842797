"""Decodes vendors' bytes into chunks and completions."""

from collections.abc import Iterable
from typing import Any

from app.gateways.base import ChatGateway, Gateway
from app.gateways.decoding.parsing import failed
from app.serving.fan_out import merge
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion

#: A gateway for either kind of request.
AnyGateway = Gateway[Any] | ChatGateway


def decode(gateway: AnyGateway, vendor: Vendor, request: Any, body: bytes) -> Completion:
    """Return a whole answer, with the vendor's count of it.

    Raises: GatewayError, also when a choice is missing.
    """
    chunks = chunks_of(gateway, vendor, request, [body])
    usage = next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None)
    return merge(chunks)._replace(usage=usage)


def chunks_of(
    gateway: AnyGateway, vendor: Vendor, request: Any, packets: Iterable[bytes]
) -> list[Completion]:
    """Return the chunks of an answer that arrives in these packets.

    Raises: GatewayError, also when a choice is missing.
    """
    reader = gateway.reader(vendor, request)
    chunks = [chunk for packet in packets for chunk in reader.feed(packet)]
    chunks += reader.close()
    if reader.missing:
        raise failed(vendor, f"left out {len(reader.missing)} choices")
    return chunks


def cut(stream: bytes, size: int | None) -> list[bytes]:
    """Return a stream in packets of `size` bytes, or in one."""
    step = size or max(1, len(stream))
    return [stream[at : at + step] for at in range(0, len(stream), step)]
