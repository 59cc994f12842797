"""OpenAI's formats, completions and chat, in the variant of each vendor entry."""

import json
from collections.abc import Iterator
from typing import Any

from tests.contract.wild.draft import ABSENT, KEEP, Body, Draft, Event
from tests.contract.wild.truth import Sample
from tests.contract.wild.wires import said_of
from tests.contract.wild.wires.sse import framed
from tests.support.vendors.openai import OpenAIWire
from tests.support.vendors.openai_chat import ChatWire


class TextSpeaker:
    """Completions; `builder` makes the wire's choices, chunks and counts."""

    family = "text"

    def __init__(self, builder: OpenAIWire, *, done: bool = True, line_end: str = "\n") -> None:
        self._builder = builder
        self._done = done
        self._line_end = line_end

    def render(self, draft: Draft) -> None:
        """Make the draft's body, or its chunks, and the mark of the end where there is one."""
        asked = self.asked(draft)
        if not draft.streams:
            choices = [self._whole(draft, asked, position) for position in draft.order]
            draft.body = {**self.object(asked), "choices": choices}
            if draft.usage is not ABSENT:
                draft.body["usage"] = self.usage(draft)
            return
        if draft.style.line_end == "\n":
            draft.style.line_end = self._line_end
        draft.events = self._with_usage(draft, asked, self._chunks(draft, asked))
        for event in draft.events:
            for position in event.ends:
                (choice,) = event.body["choices"]
                choices = [self._worded(draft, position, choice)]
                event.body = {**event.body, "choices": choices}
        if self._done:
            draft.events.append(Event("[DONE]", mark=True))

    def asked(self, draft: Draft) -> Body:
        """Return the request's body, as the builder knows it."""
        return as_answered(draft, draft.asked.body)

    def object(self, asked: Body) -> Body:
        """Return what is around the choices."""
        return self._builder.object(asked)

    def whole(self, asked: Body, draft: Draft, position: int) -> Body:
        """Return a choice of a whole answer."""
        return self._builder.whole(asked, said_of(draft, position), position)

    def chunk(self, asked: Body, position: int, piece: str) -> Body:
        """Return a choice of a chunk."""
        return self._builder.piece(asked, piece, position)

    def ending(self, asked: Body, draft: Draft, position: int) -> Body:
        """Return the last piece of a choice."""
        return self._builder.ending(asked, said_of(draft, position), position)

    def opening(self, _: Draft, __: int) -> list[Body]:
        """Return the pieces of a choice before its text."""
        return []

    def usage(self, draft: Draft) -> Any:
        """Return the usage that is sent: the deviation's, or the wire's own."""
        if draft.usage is not KEEP:
            return draft.usage
        return self._builder.usage(said_of(draft), 1, 1)

    def counted(self, chunks: list[Body], asked: Body, usage: Any) -> list[Body]:
        """Return the chunks with the usage where the wire has it."""
        return self._builder.counted(chunks, usage, asked)

    def _whole(self, draft: Draft, asked: Body, position: int) -> Body:
        choice = self.whole(asked, draft, position)
        return self.numbered(draft, position, self._worded(draft, position, choice))

    def _worded(self, draft: Draft, position: int, choice: Body) -> Body:
        word = draft.words[position]
        if word is ABSENT:
            return {name: value for name, value in choice.items() if name != "finish_reason"}
        return choice if word is KEEP else {**choice, "finish_reason": word}

    def numbered(self, draft: Draft, position: int, choice: Body) -> Body:
        """Return a choice with the index that the draft gives it, and its extra fields."""
        index = draft.indices[position]
        choice = {**choice, **draft.truth.samples[position].extra}
        if index is ABSENT:
            return {name: value for name, value in choice.items() if name != "index"}
        return choice if index is KEEP else {**choice, "index": index}

    def _chunks(self, draft: Draft, asked: Body) -> list[Event]:
        queues = [list(self._choice_events(draft, asked, position)) for position in draft.order]
        events: list[Event] = []
        while any(queues):
            waiting = [queue for queue in queues if queue]
            queue = draft.rng.choice(waiting) if draft.rng.random() < 0.7 else waiting[0]
            events.append(queue.pop(0))
        return events

    def _choice_events(self, draft: Draft, asked: Body, position: int) -> Iterator[Event]:
        def chunk(choice: Body) -> Body:
            return {**self.object(asked), "choices": [self.numbered(draft, position, choice)]}

        sample: Sample = draft.truth.samples[position]
        for choice in self.opening(draft, position):
            yield Event(chunk(choice))
        for piece in sample.pieces:
            yield Event(chunk(self.chunk(asked, position, piece)), says=[(position, piece)])
        yield Event(chunk(self.ending(asked, draft, position)), ends=[position])

    def _with_usage(self, draft: Draft, asked: Body, events: list[Event]) -> list[Event]:
        if draft.usage is ABSENT:
            return events
        nominal = self._nominal(draft)
        bodies = self.counted([event.body for event in events], asked, nominal)
        events += [Event(body) for body in bodies[len(events) :]]
        for event, body in zip(events, bodies, strict=True):
            event.body = body
            if told_in(body):
                event.told, event.final = draft.truth.told, True
                if draft.usage is not KEEP:
                    _replace_usage(body, draft.usage)
        return events

    def _nominal(self, draft: Draft) -> Any:
        kept, draft.usage = draft.usage, KEEP
        nominal = self.usage(draft)
        draft.usage = kept
        return nominal

    def frame(self, draft: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        return framed(draft, event)

    def dump(self, draft: Draft) -> bytes:
        """Return a whole answer as it is sent."""
        return json.dumps(draft.body).encode()


def as_answered(draft: Draft, body: Body) -> Body:
    """Return a request's body as if it had asked for what is answered."""
    if draft.streams and not body.get("stream"):
        return {**body, "stream": True, "stream_options": {"include_usage": True}}
    return {**body, "stream": draft.streams}


def told_in(body: Any) -> bool:
    """Say whether a chunk holds a usage that is more than zeros."""
    if not isinstance(body, dict):
        return False
    usage = body.get("usage") or (body.get("x_groq") or {}).get("usage")
    return isinstance(usage, dict) and bool(usage.get("total_tokens"))


def _replace_usage(body: Body, usage: Any) -> None:
    if (body.get("x_groq") or {}).get("usage"):
        body["x_groq"] = {**body["x_groq"], "usage": usage}
    if body.get("usage"):
        body["usage"] = usage


class ChatSpeaker(TextSpeaker):
    """Chat completions."""

    family = "chat"

    def __init__(self, builder: ChatWire) -> None:
        super().__init__(OpenAIWire())
        self._chat = builder

    def object(self, asked: Body) -> Body:
        """Return what is around the choices."""
        suffix = ".chunk" if asked.get("stream") else ""
        named = {"id": "chatcmpl-vendor", "object": f"chat.completion{suffix}"}
        served = {"created": 1_790_000_000, "model": "m-2026-01-01", "system_fingerprint": "fp_1"}
        return {**named, **served}

    def whole(self, asked: Body, draft: Draft, position: int) -> Body:
        """Return a choice of a whole answer."""
        return self._chat.whole(asked, said_of(draft, position), position)

    def opening(self, _: Draft, position: int) -> list[Body]:
        """Return the pieces of a choice before its text."""
        return [self._chat.opening(position)]

    def chunk(self, asked: Body, position: int, piece: str) -> Body:
        """Return a choice of a chunk."""
        return self._chat.piece(asked, piece, position)

    def ending(self, _: Body, draft: Draft, position: int) -> Body:
        """Return the last piece of a choice."""
        return self._chat.ending(said_of(draft, position), position)

    def usage(self, draft: Draft) -> Any:
        """Return the usage that is sent: the deviation's, or the wire's own."""
        return self._chat.usage(said_of(draft), 1) if draft.usage is KEEP else draft.usage

    def counted(self, chunks: list[Body], asked: Body, usage: Any) -> list[Body]:
        """Return the chunks with the usage where the wire has it."""
        return self._chat.counted(chunks, usage, asked)
