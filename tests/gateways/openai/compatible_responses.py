"""A response of a compatible vendor, as packets."""

from typing import Any

from tests.gateways.rows import Row
from tests.support.vendor import Asked
from tests.support.vendors.base import Said
from tests.support.vendors.openai import OpenAIWire


def answered(row: Row, wire: OpenAIWire, said: Said, **fields: Any) -> list[bytes]:
    """Return a vendor's response to the entry's request, as packets."""
    body = row.sent(**fields)
    assert next(wire.problems(body), None) is None, body
    reply = wire.answer(Asked(wire.path, {}, body, 0), said)
    return [step for step in reply.body if isinstance(step, bytes)]


SAID = Said(reasoning_tokens=0)
