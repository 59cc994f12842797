"""What every wire of these tests is made of: parts of answers, counts, events.

Unlike `tests.support.vendors`, which answer as well-behaved vendors do, wires here say whatever a
test wants said: any reason, any count, any index, in any order.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.support.vendor import Reply, Step

#: A field that is not there.
ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "absent"})()

SSE = {"content-type": "text/event-stream; charset=utf-8"}
AMAZON = {"content-type": "application/vnd.amazon.eventstream"}
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Counts:
    """What an answer cost, as the caller is to be told: `cached` is a part of `prompt`."""

    prompt: int = 20
    completion: int = 7
    cached: int = 0


@dataclass(frozen=True)
class Part:
    """What one event, or a whole answer, says of one choice. `reason` is the vendor's own word."""

    text: str = ""
    reason: Any = ABSENT
    index: Any = 0
    more: Mapping[str, Any] = field(default_factory=dict)


class Wire(Protocol):
    """One wire.

    model    a model of the vendor entry that speaks it
    stop     its word for an answer that ended by itself; ABSENT where it has no words
    mark     the bytes that end a stream; b"" where nothing does but the last counts
    samples  whether one call gives several choices
    lists    whether one call takes several prompts
    """

    model: str
    stop: Any
    mark: bytes
    samples: bool
    lists: bool

    def usage(self, counts: Counts) -> Any:
        """Return counts as the wire has them."""
        ...

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return an answer that is not streamed."""
        ...

    def opening(self, usage: Any = None) -> bytes:
        """Return what a stream begins with; `usage` where the wire counts so early."""
        ...

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return an event, or as many as the wire needs to say this."""
        ...

    def stream(self, *steps: Step, **how: Any) -> Reply:
        """Return a streamed answer of these steps."""
        ...


def data(body: Any) -> bytes:
    """Return one unnamed event."""
    return f"data: {json.dumps(body)}\n\n".encode()


def named(body: Mapping[str, Any]) -> bytes:
    """Return an event that is named after its type."""
    return f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode()


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are there."""
    return {name: value for name, value in fields.items() if value is not ABSENT}


def json_answer(body: Any) -> Reply:
    """Return a JSON answer."""
    return Reply([json.dumps(body).encode()], 200, JSON, framing="length")


class ServerSentEvents:
    """How a wire of server-sent events streams."""

    def stream(self, *steps: Step, **how: Any) -> Reply:
        """Return a streamed answer of these steps."""
        return Reply(list(steps), 200, SSE, **how)
