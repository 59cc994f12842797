"""Cohere's vendor entry, and events and messages as bytes."""

from typing import Any

from tests.gateways.rows import Row
from tests.support.vendor import Asked
from tests.support.vendors.base import Said
from tests.support.vendors.cohere import CohereWire, typed_event

ROW = Row("cohere", "CO_API_KEY")
SAID = Said(text="one tw\u00f6 \u2028 three", reasoning_tokens=3, cached_tokens=4)


def simulated(said: Said, **body: Any) -> bytes:
    """Return the body of the simulated vendor's answer to a request with these fields."""
    reply = CohereWire().answer(Asked("/v2/chat", {}, body, 1), said)
    return b"".join(step for step in reply.body if isinstance(step, bytes))


STREAM = simulated(SAID, stream=True)


def message(**fields: Any) -> dict[str, Any]:
    """Return a whole answer, with these fields changed."""
    return {
        "id": "c14c",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "one"}]},
        "usage": {"billed_units": {"input_tokens": 3.0, "output_tokens": 2.0}},
        **fields,
    }


def delta(**content: Any) -> bytes:
    """Return an event with a piece of content."""
    return typed_event({"type": "content-delta", "delta": {"message": {"content": content}}})


def end(**told: Any) -> bytes:
    """Return the last event."""
    return typed_event({"type": "message-end", "delta": told})


#: Words that a vendor might say anywhere.
WORDS = ["COMPLETE", "billed_units", "content", "delta", "error", "finish_reason", "input_tokens"]
WORDS += ["message", "text", "thinking", "tokens", "type", "usage"]
