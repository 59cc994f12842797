"""Anthropic's and Cohere's formats: events with a type; one sample per call."""

import dataclasses
import json
from typing import Any

from tests.contract.wild.draft import ABSENT, KEEP, Body, Draft, Event
from tests.contract.wild.truth import Told
from tests.contract.wild.wires import said_of
from tests.contract.wild.wires.sse import framed, read_back


class TypedSpeaker:
    """What the two have in common."""

    family: str

    def render(self, draft: Draft) -> None:
        """Make the draft's body, or its events."""
        body = {**draft.asked.body, "stream": draft.streams}
        reply = draft.wire.answer(dataclasses.replace(draft.asked, body=body), said_of(draft))
        draft.headers = {n: v for n, v in reply.headers.items() if n != "content-type"}
        if draft.streams:
            draft.events = [self.event(draft, name, body) for name, body in read_back(reply)]
        else:
            draft.body = json.loads(reply.body[0])  # type: ignore[arg-type]
            self.mend(draft, draft.body)

    def event(self, draft: Draft, name: str | None, body: Body) -> Event:
        """Return an event with what it tells."""
        raise NotImplementedError

    def mend(self, draft: Draft, body: Body) -> None:
        """Put the draft's word and usage into a whole answer."""
        raise NotImplementedError

    def frame(self, draft: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        return framed(draft, event)

    def dump(self, draft: Draft) -> bytes:
        """Return a whole answer as it is sent."""
        return json.dumps(draft.body).encode()


class AnthropicSpeaker(TypedSpeaker):
    """Messages: the prompt's counts come first, the output's with the reason for stopping."""

    family = "anthropic"

    def event(self, draft: Draft, name: str | None, body: Body) -> Event:
        """Return an event with what it tells."""
        told = draft.truth.told
        match body["type"]:
            case "message_start":
                prompt = Told(told.prompt, None, told.cached)
                return Event(body, name, told=prompt if told.prompt is not None else None)
            case "content_block_delta" if body["delta"]["type"] == "text_delta":
                return Event(body, name, says=[(0, body["delta"]["text"])])
            case "message_delta":
                put(body["delta"], "stop_reason", draft.words[0])
                put(body, "usage", draft.usage)
                return Event(body, name, ends=[0], told=told, final=True)
        return Event(body, name, mark=body["type"] == "message_stop")

    def mend(self, draft: Draft, body: Body) -> None:
        """Put the draft's word and usage into a whole answer."""
        put(body, "stop_reason", draft.words[0])
        put(body, "usage", draft.usage)


class CohereSpeaker(TypedSpeaker):
    """Cohere's second chat."""

    family = "cohere"

    def event(self, draft: Draft, name: str | None, body: Body) -> Event:
        """Return an event with what it tells."""
        if body["type"] == "message-end":
            self.mend(draft, body["delta"])
            return Event(body, name, ends=[0], told=draft.truth.told, final=True, mark=True)
        content = ((body.get("delta") or {}).get("message") or {}).get("content") or {}
        text = content.get("text") if isinstance(content, dict) else None
        return Event(body, name, says=[(0, text)] if text else [])

    def mend(self, draft: Draft, body: Body) -> None:
        """Put the draft's word and usage into what holds them."""
        put(body, "finish_reason", draft.words[0])
        put(body, "usage", draft.usage)


def put(body: Body, name: str, value: Any) -> None:
    """Set a field, or leave it out, or as it is."""
    if value is ABSENT:
        body.pop(name, None)
    elif value is not KEEP:
        body[name] = value
