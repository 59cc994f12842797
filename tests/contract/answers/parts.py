"""Building blocks of all formats in these tests: parts of responses, counts, events.

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
    """The usage that the caller must get; `prompt` includes `cached`."""

    prompt: int = 20
    completion: int = 7
    cached: int = 0


@dataclass(frozen=True)
class Part:
    """One choice in an event or a whole response. `reason` is the vendor's own value."""

    text: str = ""
    reason: Any = ABSENT
    index: Any = 0
    more: Mapping[str, Any] = field(default_factory=dict)


class Wire(Protocol):
    """One API format.

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
        """Return the counts in the vendor's format."""
        ...

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a whole response."""
        ...

    def opening(self, usage: Any = None) -> bytes:
        """Return the first events of a stream; with `usage` if the format has it there."""
        ...

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return the events for these parts."""
        ...

    def stream(self, *steps: Step, **how: Any) -> Reply:
        """Return a streamed response of these steps."""
        ...


def data(body: Any) -> bytes:
    """Return one unnamed event."""
    return f"data: {json.dumps(body)}\n\n".encode()


def named(body: Mapping[str, Any]) -> bytes:
    """Return an event named by its type."""
    return f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode()


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not ABSENT."""
    return {name: value for name, value in fields.items() if value is not ABSENT}


def json_answer(body: Any) -> Reply:
    """Return a JSON response."""
    return Reply([json.dumps(body).encode()], 200, JSON, framing="length")


class ServerSentEvents:
    """A format whose streams are server-sent events."""

    def stream(self, *steps: Step, **how: Any) -> Reply:
        """Return a streamed response of these steps."""
        return Reply(list(steps), 200, SSE, **how)
