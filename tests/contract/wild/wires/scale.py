"""Launch's tasks around completions, and LLM Engine's two wires."""

import dataclasses
import json
from typing import Any

from tests.contract.wild.draft import ABSENT, KEEP, Body, Draft, Event
from tests.contract.wild.truth import Told
from tests.contract.wild.wires import said_of
from tests.contract.wild.wires.openai import TextSpeaker, as_answered
from tests.contract.wild.wires.sse import framed, read_back
from tests.support.vendors.llmengine import CONTAINER, LLMEngineV1Wire, without_nulls


class LLMEngineSpeaker(TextSpeaker):
    """LLM Engine's second wire: what is null is left out of a chunk, and nothing marks the end."""

    def frame(self, draft: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        body = event.body if isinstance(event.body, str) else without_nulls(event.body)
        return framed(draft, event, body if isinstance(body, str) else json.dumps(body))


class LaunchSpeaker(TextSpeaker):
    """Launch: each of the container's answers is a task's result, as a text or as JSON."""

    def __init__(self, *, as_text: bool) -> None:
        super().__init__(CONTAINER, line_end="\r\n")
        self._as_text = as_text

    def asked(self, draft: Draft) -> Body:
        """Return the request's body, as the container gets it."""
        return as_answered(draft, draft.asked.body["args"])

    def frame(self, draft: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        return framed(draft, event, json.dumps(self._task(event.body)))

    def dump(self, draft: Draft) -> bytes:
        """Return a whole answer as it is sent."""
        return json.dumps(self._task(draft.body)).encode()

    def _task(self, body: Any) -> Body:
        is_text = isinstance(body, str)
        result = json.dumps(body) if self._as_text and not is_text else body
        task = {"status": "SUCCESS", "result": {"result": result}}
        return {**task, "traceback": None, "status_code": 200}


class V1Speaker:
    """LLM Engine's first wire."""

    family = "v1"

    def render(self, draft: Draft) -> None:
        """Make the draft's body, or its events."""
        wire = LLMEngineV1Wire()
        kind = "stream" if draft.streams else "sync"
        asked = dataclasses.replace(draft.asked, path=f"/v1/llm/completions-{kind}?x")
        reply = wire.answer(asked, said_of(draft))
        if not draft.streams:
            draft.body = json.loads(reply.body[0])  # type: ignore[arg-type]
            draft.body["output"] = self._counted(draft, draft.body["output"])
            return
        if draft.style.line_end == "\n":
            draft.style.line_end = "\r\n"
        draft.events = [self._event(draft, body) for _, body in read_back(reply)]

    def _event(self, draft: Draft, body: Body) -> Event:
        output = body["output"]
        says = [(0, output["text"])] if output["text"] else []
        if not output["finished"]:
            return Event(body, says=says, told=Told(at_least=output["num_completion_tokens"]))
        body["output"] = self._counted(draft, output)
        told = draft.truth.told
        if told.completion is None:  # it has said before how far it was
            told = dataclasses.replace(told, at_least=len(draft.truth.samples[0].pieces))
            draft.truth.told = told
        return Event(body, says=says, ends=[0], told=told, final=draft.usage is not ABSENT)

    def _counted(self, draft: Draft, output: Body) -> Body:
        if draft.usage is KEEP:
            return output
        bare = {name: v for name, v in output.items() if not name.startswith("num_")}
        return bare if draft.usage is ABSENT else {**bare, **draft.usage}

    def frame(self, draft: Draft, event: Event) -> bytes:
        """Return one event as it is sent."""
        return framed(draft, event)

    def dump(self, draft: Draft) -> bytes:
        """Return a whole answer as it is sent."""
        return json.dumps(draft.body).encode()
