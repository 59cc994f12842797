"""Each vendor's wire as data: how it says a text, why the text ends, and what it cost.

Unlike `tests.vendors`, which answer as well-behaved vendors do, these say whatever a test wants
said: any reason, any count, any index, in any order.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.vendor import Reply, Step
from tests.vendors.bedrock import event_frame

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


class _ServerSentEvents:
    """How a wire of server-sent events streams."""

    def stream(self, *steps: Step, **how: Any) -> Reply:
        """Return a streamed answer of these steps."""
        return Reply(list(steps), 200, SSE, **how)


class OpenAI(_ServerSentEvents):
    """OpenAI's two wires, and those of whoever speaks them."""

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
        """Return the object of a whole answer."""
        told = {} if usage is None else {"usage": usage}
        return {**self._object("message", parts), **told, **more}

    def chunk(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of one event."""
        told = {} if usage is None else {"usage": usage}
        return {**self._object("delta", parts), **told, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return an answer that is not streamed."""
        return json_answer(self.body(*parts, usage=usage, **more))

    def opening(self, usage: Any = None) -> bytes:  # noqa: ARG002 - it counts nothing so early
        """Return the role that a chat begins with."""
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


class Launch(_ServerSentEvents):
    """Tasks whose results are what a container says on OpenAI's wire."""

    stop, samples, lists = "stop", True, True

    def __init__(self) -> None:
        self.model = "launch/end_abc"
        self.inner = OpenAI(self.model, chat=False)
        self.usage = self.inner.usage
        self.mark = data(self._task("[DONE]"))

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return a task's answer."""
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


class Anthropic(_ServerSentEvents):
    """The Messages wire."""

    model, stop, samples, lists = "anthropic/claude-sonnet-4-5", "end_turn", False, False
    mark = named({"type": "message_stop"})

    def usage(self, counts: Counts) -> Any:
        """Return the usage object: what is cached is no part of the input."""
        return {
            "input_tokens": counts.prompt - counts.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": counts.cached,
            "output_tokens": counts.completion,
        }

    def body(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of a whole answer."""
        (part,) = parts
        message = present(stop_reason=part.reason, usage=ABSENT if usage is None else usage)
        content = [{"type": "text", "text": part.text}]
        return {**self._message(), "content": content, **message, **part.more, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return an answer that is not streamed."""
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


class Gemini(_ServerSentEvents):
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
        """Return an answer that is not streamed."""
        return json_answer(self.body(*parts, usage=usage, **more))

    def opening(self, usage: Any = None) -> bytes:
        """Return the first count, where there is one."""
        return b"" if usage is None else data(self.body(usage=usage))

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return one response."""
        return data(self.body(*parts, usage=usage))

    def _candidate(self, part: Part) -> dict[str, Any]:
        parts: dict[str, Any] = {"parts": [{"text": part.text}]} if part.text else {}
        index = ABSENT if self._terse and part.index == 0 else part.index
        told = present(finishReason=part.reason, index=index)
        return {"content": {**parts, "role": "model"}, **told, **part.more}


class Cohere(_ServerSentEvents):
    """The chat wire; a stream ends with the event that has the reason and the counts."""

    model, stop, mark, samples, lists = "cohere/command-a", "COMPLETE", b"", False, False

    def usage(self, counts: Counts) -> Any:
        """Return the usage object: what is billed, and what the model saw."""
        billed = {"input_tokens": counts.prompt, "output_tokens": counts.completion}
        return {"billed_units": billed, "cached_tokens": counts.cached}

    def body(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of a whole answer."""
        (part,) = parts
        message = {"role": "assistant", "content": [{"type": "text", "text": part.text}]}
        told = present(finish_reason=part.reason, usage=ABSENT if usage is None else usage)
        return {"id": "c14c", "message": message, **told, **part.more, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return an answer that is not streamed."""
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


class Converse:
    """Amazon's Converse and ConverseStream."""

    model, stop, mark = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "end_turn", b""
    samples, lists = False, False

    def usage(self, counts: Counts) -> Any:
        """Return the usage object: what is cached is no part of the input."""
        return {
            "inputTokens": counts.prompt - counts.cached,
            "outputTokens": counts.completion,
            "totalTokens": counts.prompt + counts.completion,
            "cacheReadInputTokens": counts.cached,
        }

    def body(self, *parts: Part, usage: Any = None, **more: Any) -> dict[str, Any]:
        """Return the object of a whole answer."""
        (part,) = parts
        message = {"content": [{"text": part.text}], "role": "assistant"}
        told = present(stopReason=part.reason, usage=ABSENT if usage is None else usage)
        return {"output": {"message": message}, **told, **part.more, **more}

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return an answer that is not streamed."""
        return json_answer(self.body(*parts, usage=usage, **more))

    def opening(self, usage: Any = None) -> bytes:  # noqa: ARG002 - it counts nothing so early
        """Return the message's beginning."""
        return event_frame("messageStart", {"role": "assistant"})

    def event(self, *parts: Part, usage: Any = None) -> bytes:
        """Return text, the reason, the counts: each is an event of its own."""
        said = b""
        for part in parts:
            if part.text:
                delta = {"contentBlockIndex": 0, "delta": {"text": part.text}}
                said += event_frame("contentBlockDelta", delta)
            if part.reason is not ABSENT:
                said += event_frame("messageStop", {"stopReason": part.reason})
        return said if usage is None else said + event_frame("metadata", {"usage": usage})

    def stream(self, *steps: Step, **how: Any) -> Reply:
        """Return a streamed answer of these steps."""
        return Reply(list(steps), 200, AMAZON, **how)


class Invoke:
    """Amazon's InvokeModel: a raw prompt, and an answer in the form of the model's family.

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
        """Return an answer that is not streamed, or the stream that is asked for instead."""
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
        """Return a streamed answer of these steps."""
        return Reply(list(steps), 200, AMAZON, **how)


class EngineV1(_ServerSentEvents):
    """LLM Engine's first wire, which has no word for why an answer ended: `reason` is a flag."""

    model, stop, mark, samples, lists = "llmengine_v1/llama", "finished", b"", False, False

    def usage(self, counts: Counts) -> Any:
        """Return the counts, which are fields of the output."""
        return {
            "num_prompt_tokens": counts.prompt,
            "num_completion_tokens": counts.completion,
        }

    def whole(self, *parts: Part, usage: Any = None, **more: Any) -> Reply:
        """Return an answer that is not streamed."""
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


#: Every wire, whole and streamed.
WIRES: Mapping[str, Wire] = {
    "text": OpenAI("text/m", chat=False),
    "chat": OpenAI("openai/m", chat=True),
    "azure-text": OpenAI("azure/gpt-35-turbo-instruct", chat=False),
    "azure-chat": OpenAI("azure/gpt-4o", chat=True),
    "llmengine": OpenAI("llmengine/llama", chat=False),
    "launch": Launch(),
    "anthropic": Anthropic(),
    "gemini": Gemini("gemini/gemini-x", terse=False),
    "vertex": Gemini("vertex_ai/gemini-x", terse=True),
    "converse": Converse(),
    "llama": Invoke("llama", "us.meta.llama3-3-70b-instruct-v1:0", "stop"),
    "titan": Invoke("titan", "amazon.titan-text-express-v1", "FINISH"),
    "mistral-raw": Invoke("mistral", "mistral.mixtral-8x7b-instruct-v0:1", "stop"),
    "command": Invoke("command", "cohere.command-text-v14", "COMPLETE"),
    "cohere": Cohere(),
    "fim": OpenAI("mistral/codestral-latest", chat=True, samples=False),
    "mistral": OpenAI("mistral/mistral-small", chat=True),
    "llmengine_v1": EngineV1(),
}

#: Those whose answers say why they end.
WORDY = tuple(name for name, wire in WIRES.items() if name != "llmengine_v1")
#: Those whose streams end with a mark of their own.
MARKED = tuple(name for name, wire in WIRES.items() if wire.mark)
#: Those whose calls give several choices, and those whose calls take several prompts.
SAMPLING = tuple(name for name, wire in WIRES.items() if wire.samples)
LISTING = tuple(name for name, wire in WIRES.items() if wire.lists)
#: Those on which each sample is a call.
SINGLE = tuple(name for name, wire in WIRES.items() if not wire.samples)
