"""Google's format: every event is a complete response object with all candidates."""

import dataclasses
import json
from typing import Any

from tests.contract.wild.draft import ABSENT, KEEP, Body, Draft, Event
from tests.contract.wild.truth import Told
from tests.contract.wild.wires import said_of
from tests.contract.wild.wires.sse import framed, read_back
from tests.contract.wild.wires.typed import put
from tests.support.vendors.gemini import FINISH


class GoogleSpeaker:
    """generateContent; the usage is a running total, and nothing marks the end."""

    family = "google"

    def render(self, draft: Draft) -> None:
        """Make the draft's body, or its events."""
        operation = "streamGenerateContent?alt=sse" if draft.streams else "generateContent"
        path = draft.asked.path.partition(":")[0] + f":{operation}"
        reply = draft.wire.answer(dataclasses.replace(draft.asked, path=path), said_of(draft))
        if not draft.streams:
            draft.body = json.loads(reply.body[0])  # type: ignore[arg-type]
            texts = [sample.text for sample in draft.truth.samples]
            self._mend(draft, draft.body, texts, ends=True)
            put(draft.body, "usageMetadata", _usage(draft))
            return
        if draft.style.line_end == "\n":
            draft.style.line_end = "\r\n"
        bodies = [body for _, body in read_back(reply)]
        draft.events = [self._event(draft, at, body) for at, body in enumerate(bodies[:-1])]
        draft.events.append(self._end(draft, bodies[-1]))

    def _event(self, draft: Draft, at: int, body: Body) -> Event:
        pieces = [sample.pieces[at] for sample in draft.truth.samples]
        says = self._mend(draft, body, pieces, ends=False)
        told = draft.truth.told
        running = "usageMetadata" in body and told.prompt is not None
        return Event(body, says=says, told=Told(told.prompt) if running else None)

    def _end(self, draft: Draft, body: Body) -> Event:
        self._mend(draft, body, ["" for _ in draft.positions], ends=True)
        put(body, "usageMetadata", _usage(draft))
        told = draft.truth.told
        return Event(body, ends=list(draft.positions), told=told, final=draft.usage is not ABSENT)

    def _mend(
        self, draft: Draft, body: Body, texts: list[str], *, ends: bool
    ) -> list[tuple[int, str]]:
        """Give each candidate its own text, index and word, in the draft's order."""
        candidates = body["candidates"]
        for position, (candidate, text) in enumerate(zip(candidates, texts, strict=True)):
            if text:
                candidate["content"]["parts"] = [{"text": text}]
            index: Any = draft.indices[position]
            if index is not KEEP:
                put(candidate, "index", index)
            if ends:
                candidate["finishReason"] = FINISH[draft.truth.samples[position].finish]  # type: ignore[index]
                put(candidate, "finishReason", draft.words[position])
        body["candidates"] = [candidates[position] for position in draft.order]
        return [(position, text) for position, text in enumerate(texts) if text]

    def frame(self, draft: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        return framed(draft, event)

    def dump(self, draft: Draft) -> bytes:
        """Return a whole answer as it is sent."""
        return json.dumps(draft.body, indent=2).encode()


def _usage(draft: Draft) -> Any:
    """Return the usage that is sent: the deviation's, or the wire's own, of all samples."""
    if draft.usage is not KEEP:
        return draft.usage
    told = draft.truth.told
    prompt, completion = told.prompt or 0, told.completion or 0
    counts = {"promptTokenCount": prompt, "candidatesTokenCount": completion}
    cached = {"cachedContentTokenCount": told.cached} if told.cached else {}
    details = {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}]}
    return {**counts, **cached, **details, "totalTokenCount": prompt + completion}
