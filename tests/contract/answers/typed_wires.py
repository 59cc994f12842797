"""Anthropic's, Google's and Cohere's formats."""

from typing import Any

from tests.contract.answers.parts import (
    ABSENT,
    Counts,
    Part,
    ServerSentEvents,
    data,
    json_answer,
    named,
    present,
)
from tests.support.vendor import Reply


class Anthropic(ServerSentEvents):
    """Anthropic's Messages format."""

    model, stop, samples, lists = "anthropic/claude-sonnet-4-5", "end_turn", False, False
    mark = named({"type": "message_stop"})

    def usage(self, counts: Counts) -> Any:
        """Return the usage object; its input excludes cached tokens."""
        return {
            "input_tokens": counts.prompt - counts.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": counts.cached,
            "output_tokens": counts.completion,
        }

    def body(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of a whole response."""
        (part,) = parts
        message = present(stop_reason=part.reason, usage=ABSENT if usage is None else usage)
        content = [{"type": "text", "text": part.text}]
        return {**self._message(), "content": content, **message, **part.more, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a whole response."""
        return json_answer(self.body(*parts, usage=usage, **more))

    def opening(self, usage: Any = None) -> bytes:
        """Return `message_start`, whose count of the output is a placeholder."""
        message = {**self._message(), "content": [], "stop_reason": None}
        if usage is not None:
            message["usage"] = {**usage, "output_tokens": 1}
        block = {"type": "text", "text": ""}
        start = {"type": "content_block_start", "index": 0, "content_block": block}
        return named({"type": "message_start", "message": message}) + named(start)

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return deltas of the text and of the message."""
        said = b""
        for part in parts:
            if part.text:
                delta = {"type": "text_delta", "text": part.text}
                said += named({"type": "content_block_delta", "index": 0, "delta": delta})
        reason = parts[0].reason if parts else ABSENT
        if reason is not ABSENT or usage is not None:
            delta = present(stop_reason=reason, stop_sequence=None)
            told = {} if usage is None else {"usage": usage}
            said += named({"type": "message_delta", "delta": delta, **told})
        return said

    def _message(self) -> dict[str, Any]:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x"}


class Gemini(ServerSentEvents):
    """Google's generateContent. `terse`: an index of 0 is left out, as Vertex AI does."""

    stop, mark, samples, lists = "STOP", b"", True, False

    def __init__(self, model: str, *, terse: bool) -> None:
        self.model = model
        self._terse = terse

    def usage(self, counts: Counts) -> Any:
        """Return the usage object."""
        usage = {
            "promptTokenCount": counts.prompt,
            "candidatesTokenCount": counts.completion,
            "totalTokenCount": counts.prompt + counts.completion,
        }
        return {**usage, "cachedContentTokenCount": counts.cached} if counts.cached else usage

    def body(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return one response."""
        told = {} if usage is None else {"usageMetadata": usage}
        candidates = {"candidates": [self._candidate(part) for part in parts]} if parts else {}
        return {**candidates, "modelVersion": "gemini-x", "responseId": "r1", **told, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a whole response."""
        return json_answer(self.body(*parts, usage=usage, **more))

    def opening(self, usage: Any = None) -> bytes:
        """Return the first count, if the format has one."""
        return b"" if usage is None else data(self.body(usage=usage))

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return one response."""
        return data(self.body(*parts, usage=usage))

    def _candidate(self, part: Part) -> dict[str, Any]:
        parts: dict[str, Any] = {"parts": [{"text": part.text}]} if part.text else {}
        index = ABSENT if self._terse and part.index == 0 else part.index
        told = present(finishReason=part.reason, index=index)
        return {"content": {**parts, "role": "model"}, **told, **part.more}


class Cohere(ServerSentEvents):
    """Cohere's chat format; a stream ends with the event that has the reason and the counts."""

    model, stop, mark, samples, lists = "cohere/command-a", "COMPLETE", b"", False, False

    def usage(self, counts: Counts) -> Any:
        """Return the usage object: the billed tokens, and those that the model processed."""
        billed = {"input_tokens": counts.prompt, "output_tokens": counts.completion}
        return {"billed_units": billed, "cached_tokens": counts.cached}

    def body(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of a whole response."""
        (part,) = parts
        message = {"role": "assistant", "content": [{"type": "text", "text": part.text}]}
        told = present(finish_reason=part.reason, usage=ABSENT if usage is None else usage)
        return {"id": "c14c", "message": message, **told, **part.more, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a whole response."""
        return json_answer(self.body(*parts, usage=usage, **more))

    def opening(self, usage: Any = None) -> bytes:  # noqa: ARG002 - it counts nothing so early
        """Return the message's beginning."""
        message = {"role": "assistant", "content": []}
        return named({"type": "message-start", "id": "c14c", "delta": {"message": message}})

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return text, or the end with its reason and its counts."""
        said = b""
        for part in parts:
            if part.text:
                message = {"message": {"content": {"text": part.text}}}
                said += named({"type": "content-delta", "index": 0, "delta": message})
        reason = parts[0].reason if parts else ABSENT
        if reason is not ABSENT or usage is not None:
            delta = present(finish_reason=reason, usage=ABSENT if usage is None else usage)
            said += named({"type": "message-end", "id": "c14c", "delta": delta})
        return said
