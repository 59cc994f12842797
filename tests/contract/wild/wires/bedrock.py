"""Amazon Bedrock's formats: JSON, or frames with checksums; one sample per call."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from botocore.eventstream import EventStreamBuffer

from tests.contract.wild.draft import Body, Draft, Event
from tests.contract.wild.wires import said_of
from tests.contract.wild.wires.typed import put
from tests.support.vendor import Reply
from tests.support.vendors.bedrock import chunk_frame, event_frame

METRICS = "amazon-bedrock-invocationMetrics"


def _payloads(reply: Reply) -> Iterator[tuple[str, Body]]:
    buffer = EventStreamBuffer()
    buffer.add_data(b"".join(step for step in reply.body if isinstance(step, bytes)))
    for message in buffer:
        yield message.headers[":event-type"], json.loads(message.payload)


class ConverseSpeaker:
    """Converse: the reason, and then the counts."""

    family = "converse"

    def render(self, draft: Draft) -> None:
        """Make the draft's body, or its events."""
        reply = draft.wire.answer(draft.asked, said_of(draft))
        draft.headers = dict(reply.headers)
        if draft.streams:
            draft.events = [self._event(draft, *found) for found in _payloads(reply)]
            return
        draft.body = json.loads(reply.body[0])  # type: ignore[arg-type]
        put(draft.body, "stopReason", draft.words[0])
        put(draft.body, "usage", draft.usage)

    def _event(self, draft: Draft, kind: str, body: Body) -> Event:
        if kind == "contentBlockDelta" and "text" in body["delta"]:
            return Event(body, kind, says=[(0, body["delta"]["text"])])
        if kind == "messageStop":
            put(body, "stopReason", draft.words[0])
            return Event(body, kind, ends=[0])
        if kind == "metadata":
            put(body, "usage", draft.usage)
            return Event(body, kind, told=draft.truth.told, final=True)
        return Event(body, kind)

    def frame(self, _: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        return event_frame(str(event.name), event.body)

    def dump(self, draft: Draft) -> bytes:
        """Return a whole answer as it is sent."""
        return json.dumps(draft.body).encode()


#: By a part of the model's name: where a chunk has its text and its reason.
SHAPES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "titan": (("outputText",), ("completionReason",)),
    "llama": (("generation",), ("stop_reason",)),
    "mistral": (("outputs", 0, "text"), ("outputs", 0, "stop_reason")),
    "cohere": (("text",), ("finish_reason",)),
}


class InvokeSpeaker:
    """InvokeModel; a whole answer of some families is asked for as a stream."""

    family = "invoke"

    def __init__(self, model: str) -> None:
        self._text, self._word = next(v for name, v in SHAPES.items() if name in model)

    def render(self, draft: Draft) -> None:
        """Make the draft's body, or its events."""
        reply = draft.wire.answer(draft.asked, said_of(draft))
        draft.headers = dict(reply.headers)
        draft.streams = "stream" in draft.asked.path
        if not draft.streams:
            draft.body = json.loads(reply.body[0])  # type: ignore[arg-type]
            return
        for kind, payload in _payloads(reply):
            body = json.loads(base64.b64decode(payload["bytes"]))
            draft.events.append(self._event(draft, kind, body))

    def _event(self, draft: Draft, kind: str, body: Body) -> Event:
        text, word = _at(body, self._text), _at(body, self._word)
        event = Event(body, kind, says=[(0, text)] if text else [])
        if word is not None:
            *outer, last = self._word
            put(_at(body, tuple(outer)), str(last), draft.words[0])
            put(body, METRICS, draft.usage)
            event.ends, event.told, event.final = [0], draft.truth.told, True
        return event

    def frame(self, _: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        return chunk_frame(event.body)

    def dump(self, draft: Draft) -> bytes:
        """Return a whole answer as it is sent."""
        return json.dumps(draft.body).encode()


def _at(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        body = body.get(key) if isinstance(key, str) else body[key]
    return body
