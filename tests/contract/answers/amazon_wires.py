"""Amazon's formats: Converse, and InvokeModel for each family of models."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from tests.contract.answers.parts import (
    ABSENT,
    AMAZON,
    Counts,
    Part,
    json_answer,
    present,
)
from tests.support.vendor import Reply, Step
from tests.support.vendors.bedrock import event_frame


class Converse:
    """Amazon's Converse and ConverseStream."""

    model, stop, mark = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "end_turn", b""
    samples, lists = False, False

    def usage(self, counts: Counts) -> Any:
        """Return the usage object; its input excludes cached tokens."""
        return {
            "inputTokens": counts.prompt - counts.cached,
            "outputTokens": counts.completion,
            "totalTokens": counts.prompt + counts.completion,
            "cacheReadInputTokens": counts.cached,
        }

    def body(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of a whole response."""
        (part,) = parts
        message = {"content": [{"text": part.text}], "role": "assistant"}
        told = present(stopReason=part.reason, usage=ABSENT if usage is None else usage)
        return {"output": {"message": message}, **told, **part.more, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a whole response."""
        return json_answer(self.body(*parts, usage=usage, **more))

    def opening(self, usage: Any = None) -> bytes:  # noqa: ARG002 - it counts nothing so early
        """Return the message's beginning."""
        return event_frame("messageStart", {"role": "assistant"})

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return three events: the text, the finish reason and the counts."""
        said = b""
        for part in parts:
            if part.text:
                delta = {"contentBlockIndex": 0, "delta": {"text": part.text}}
                said += event_frame("contentBlockDelta", delta)
            if part.reason is not ABSENT:
                said += event_frame("messageStop", {"stopReason": part.reason})
        return said if usage is None else said + event_frame("metadata", {"usage": usage})

    def stream(self, *steps: Step, **how: Any) -> Reply:
        """Return a streamed response of these steps."""
        return Reply(list(steps), 200, AMAZON, **how)


class Invoke:
    """Amazon's InvokeModel: a raw prompt, and a response in the format of the model's family.

    A stream's last chunk has the counts, which the service adds whatever the family.
    """

    mark, samples, lists = b"", False, False

    def __init__(self, family: str, model: str, stop: str) -> None:
        self._family, self.model, self.stop = family, f"bedrock/{model}", stop

    def usage(self, counts: Counts) -> Any:
        """Return the service's own counts."""
        return {
            "inputTokenCount": counts.prompt - counts.cached,
            "outputTokenCount": counts.completion,
            "cacheReadInputTokenCount": counts.cached,
        }

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a whole response, or the stream that Tollgate requests instead."""
        (part,) = parts
        if self._family in ("mistral", "command"):
            return self.stream(self.event(part, usage=usage))
        return json_answer({**self._body(part, usage or {}), **more})

    def _body(self, part: Part, usage: Mapping[str, Any]) -> dict[str, Any]:
        read, written = usage.get("inputTokenCount"), usage.get("outputTokenCount")
        if self._family == "llama":
            counts = {"prompt_token_count": read, "generation_token_count": written}
            return {"generation": part.text, **counts, **present(stop_reason=part.reason)}
        if self._family == "titan":
            reason = present(completionReason=part.reason)
            result = {"outputText": part.text, "tokenCount": written, **reason}
            return {"inputTextTokenCount": read, "results": [result]}
        reason = present(reason=part.reason)
        token = {"generatedToken": {"token": "x"}}
        inner = {"data": {"text": part.text, "tokens": [token] * (written or 0)}}
        completion = {**inner, "finishReason": reason}
        return {"prompt": {"tokens": [token] * (read or 0)}, "completions": [completion]}

    def opening(self, usage: Any = None) -> bytes:  # noqa: ARG002 - it counts nothing so early
        """Return nothing."""
        return b""

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return one chunk of the family's JSON."""
        chunk = self._chunk(parts[0] if parts else Part())
        if usage is not None:
            chunk["amazon-bedrock-invocationMetrics"] = usage
        text = base64.b64encode(json.dumps(chunk).encode()).decode()
        return event_frame("chunk", {"bytes": text})

    def _chunk(self, part: Part) -> dict[str, Any]:
        if self._family == "llama":
            return {"generation": part.text, **present(stop_reason=part.reason)}
        if self._family == "titan":
            return {"outputText": part.text, **present(completionReason=part.reason)}
        if self._family == "mistral":
            return {"outputs": [{"text": part.text, **present(stop_reason=part.reason)}]}
        return {"text": part.text, **present(finish_reason=part.reason)}

    def stream(self, *steps: Step, **how: Any) -> Reply:
        """Return a streamed response of these steps."""
        return Reply(list(steps), 200, AMAZON, **how)
