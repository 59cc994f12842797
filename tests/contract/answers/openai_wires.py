"""OpenAI's formats, and those that wrap them: Launch's tasks, LLM Engine's first API."""

import json
from collections.abc import Sequence
from typing import Any

from tests.contract.answers.parts import (
    ABSENT,
    Counts,
    Part,
    ServerSentEvents,
    data,
    json_answer,
    present,
)
from tests.support.vendor import Reply


class OpenAI(ServerSentEvents):
    """OpenAI's two formats, and those of compatible vendors."""

    stop = "stop"
    mark = b"data: [DONE]\n\n"

    def __init__(
        self, model: str, *, chat: bool, samples: bool = True, lists: bool | None = None
    ) -> None:
        self.model, self.chat, self.samples = model, chat, samples
        self.lists = not chat if lists is None else lists

    def usage(self, counts: Counts) -> Any:
        """Return the usage object."""
        total = counts.prompt + counts.completion
        usage: dict[str, Any] = {
            "prompt_tokens": counts.prompt,
            "completion_tokens": counts.completion,
            "total_tokens": total,
        }
        if counts.cached:
            usage["prompt_tokens_details"] = {"cached_tokens": counts.cached}
        return usage

    def body(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of a whole response."""
        told = {} if usage is None else {"usage": usage}
        return {**self._object("message", parts), **told, **more}

    def chunk(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of one event."""
        told = {} if usage is None else {"usage": usage}
        return {**self._object("delta", parts), **told, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a whole response."""
        return json_answer(self.body(*parts, usage=usage, **more))

    def opening(self, usage: Any = None) -> bytes:  # noqa: ARG002 - it counts nothing so early
        """Return the role with which a chat begins."""
        if not self.chat:
            return b""
        choice = {"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}
        return data({**self._object("delta", ()), "choices": [choice]})

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return one chunk."""
        return data(self.chunk(*parts, usage=usage))

    def _object(self, key: str, parts: Sequence[Part]) -> dict[str, Any]:
        word = "chat.completion" if self.chat else "text_completion"
        return {
            "id": "cmpl-1",
            "object": word,
            "created": 1_790_000_000,
            "model": "m-1",
            "choices": [self._choice(key, part) for part in parts],
        }

    def _choice(self, key: str, part: Part) -> dict[str, Any]:
        said: dict[str, Any] = {"text": part.text}
        if self.chat:
            said = {key: {"role": "assistant", "content": part.text}}
        reason = part.reason
        if reason is ABSENT and key == "delta":
            reason = None  # as OpenAI's own chunks have it
        return {**present(index=part.index, finish_reason=reason), **said, **part.more}


class Launch(ServerSentEvents):
    """Tasks whose results are a container's output in OpenAI's format."""

    stop, samples, lists = "stop", True, True

    def __init__(self) -> None:
        self.model = "launch/end_abc"
        self.inner = OpenAI(self.model, chat=False)
        self.usage = self.inner.usage
        self.mark = data(self._task("[DONE]"))

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a finished task."""
        return json_answer(self._task(self.inner.body(*parts, usage=usage, **more)))

    def opening(self, usage: Any = None) -> bytes:  # noqa: ARG002 - it counts nothing so early
        """Return nothing."""
        return b""

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return a task whose result is one chunk."""
        return data(self._task(self.inner.chunk(*parts, usage=usage)))

    def _task(self, result: Any) -> dict[str, Any]:
        text = result if isinstance(result, str) else json.dumps(result)
        return {"status": "SUCCESS", "result": {"result": text}, "status_code": 200}


class EngineV1(ServerSentEvents):
    """LLM Engine's first API, which has no finish reasons: `reason` is a flag."""

    model, stop, mark, samples, lists = "llmengine_v1/llama", "finished", b"", False, False

    def usage(self, counts: Counts) -> Any:
        """Return the counts, which are fields of the output."""
        return {
            "num_prompt_tokens": counts.prompt,
            "num_completion_tokens": counts.completion,
        }

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a whole response."""
        output = {"text": parts[0].text, **(usage or {})}
        return json_answer({"request_id": "1f", "output": output, **more})

    def opening(self, usage: Any = None) -> bytes:  # noqa: ARG002 - it counts nothing so early
        """Return nothing."""
        return b""

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return one output."""
        part = parts[0] if parts else Part()
        said = {"text": part.text, "finished": part.reason is not ABSENT, "token": None}
        return data({"request_id": "1f", "output": {**said, **(usage or {})}, "error": None})
