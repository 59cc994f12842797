"""Google's generateContent as a chat, at the Gemini API and at Vertex AI.

Source: the types of Google's Python SDK (3.6), the API's reference (function calling, thought
signatures, thinking, structured output), and the errors that its clients report.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from google.genai import types

from tests.support.vendor import CUT, Asked, Reply
from tests.support.vendors.chat.gemini_rules import calls_sign, complaints, in_camel_case, is_third
from tests.support.vendors.chat.script import (
    Answer,
    Block,
    Call,
    Counts,
    Finish,
    Text,
    hung_up,
    signature,
)
from tests.support.vendors.chat.typed import complaint
from tests.support.vendors.gemini import GeminiWire, VertexWire, event, json_answer

FINISH: Mapping[Finish, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "tool_calls": "STOP",
}

BODY: Mapping[str, Any] = {
    "contents": list[types.Content],
    "systemInstruction": types.Content,
    "tools": list[types.Tool],
    "toolConfig": types.ToolConfig,
    "generationConfig": types.GenerationConfig,
    "safetySettings": list[types.SafetySetting],
    "cachedContent": str,
    "serviceTier": str,
}


class GeminiChat(GeminiWire):
    """The Gemini API."""

    model = "gemini-2.5-flash"

    #: Fields of a request that this API alone has.
    own: Mapping[str, Any] = {"store": bool}

    #: Whose signatures these are: another one's are refused.
    issuer = ""

    def check_body(self, asked: Asked) -> Reply | None:
        """Refuse what Google refuses of a conversation."""
        wrong = next(self._wrong(asked), None)
        return self.error(asked, 400, "INVALID_ARGUMENT", wrong) if wrong else None

    def _wrong(self, asked: Asked) -> Iterator[str]:
        known = {**BODY, **self.own}
        for name, value in asked.body.items():
            if name not in known:
                yield f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            elif (wrong := complaint(value, known[name])) is not None:
                yield f"Invalid JSON payload received. {name}.{wrong}"
        yield from complaints(model_of(asked), in_camel_case(asked.body), self.issuer)

    def says(self, asked: Asked, said: Answer) -> Reply:
        """Answer as the script says, whole or streamed."""
        if "stream" in asked.path:
            return self._streamed(asked, said)
        if said.breaks == "error":
            return self.refuse(asked, "server_error")
        config = asked.body.get("generationConfig", {})
        parts = _joined([part for parts in _parts(asked, said, self.issuer) for part in parts])
        samples = range(config.get("candidateCount", 1))
        candidates = [candidate(at, parts, said) for at in samples]
        body = self._response(asked, candidates, usage_of(said.counts, len(candidates)))
        return hung_up(body) if said.breaks else json_answer(body)

    def _streamed(self, asked: Asked, said: Answer) -> Reply:
        config = asked.body.get("generationConfig", {})
        samples = range(config.get("candidateCount", 1))
        so_far = {
            "promptTokenCount": said.counts.prompt - said.counts.tool_prompt,
            "totalTokenCount": said.counts.prompt - said.counts.tool_prompt,
        }
        frames = [
            self._response(asked, [candidate(at, parts, None) for at in samples], so_far)
            for parts in _parts(asked, said, self.issuer)
        ]
        if said.breaks is None:
            ends = [candidate(at, [], said) for at in samples]
            frames.append(self._response(asked, ends, usage_of(said.counts, len(samples))))
        if said.breaks == "error":
            message = "The model is overloaded. Please try again later."
            frames.append({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}})
        steps: list[Any] = [event(frame) for frame in frames]
        steps += [CUT] if said.breaks == "hang_up" else []
        return Reply(steps, 200, {"content-type": "text/event-stream"})


class VertexChat(GeminiChat, VertexWire):
    """Vertex AI."""

    issuer = "vertex_ai"
    own: Mapping[str, Any] = {"labels": dict[str, str], "modelArmorConfig": dict}


def model_of(asked: Asked) -> str:
    """Return the model in a request's path."""
    return asked.path.partition("/models/")[2].partition(":")[0]


def candidate(index: int, parts: list[dict[str, Any]], said: Answer | None) -> dict[str, Any]:
    """Return a candidate; `said` ends it."""
    content = {"role": "model", "parts": parts or [{"text": ""}]}
    end = {"finishReason": FINISH[said.ending]} if said else {}
    return {"content": content, **end, **({"index": index} if index else {})}


def usage_of(counts: Counts, samples: int) -> dict[str, Any]:
    """Return Google's counts: thoughts beside the candidates' tokens, cached ones in the prompt."""
    prompt = counts.prompt - counts.tool_prompt
    said = counts.completion - counts.reasoning
    usage: dict[str, Any] = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": said * samples,
        "totalTokenCount": counts.prompt + counts.completion * samples,
        "promptTokensDetails": _modalities(prompt, counts.image_prompt),
    }
    optional = {
        "thoughtsTokenCount": counts.reasoning * samples,
        "cachedContentTokenCount": counts.cached,
        "toolUsePromptTokenCount": counts.tool_prompt,
    }
    if counts.image_completion:
        usage["candidatesTokensDetails"] = _modalities(said, counts.image_completion)
    return usage | {name: count for name, count in optional.items() if count}


def _modalities(tokens: int, images: int) -> list[dict[str, Any]]:
    counted = {"TEXT": tokens - images, "IMAGE": images}
    return [{"modality": name, "tokenCount": count} for name, count in counted.items() if count]


def _parts(asked: Asked, said: Answer, issuer: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the parts of each event; of calls side by side, the first alone is signed."""
    body = in_camel_case(asked.body)
    config = body.get("generationConfig", {})
    shown = config.get("thinkingConfig", {}).get("includeThoughts")
    signs, before = calls_sign(model_of(asked), body), None
    for block in said.blocks:
        if isinstance(block, Call):
            call = {"functionCall": _call(model_of(asked), block)}
            first = not isinstance(before, Call)
            signed = {"thoughtSignature": signature(block.name, block.arguments, by=issuer)}
            yield [call | (signed if signs and first else {})]
        elif isinstance(block, Text):
            for piece in block.pieces():
                yield [{"text": piece}]
        elif shown:
            yield [{"text": block.text, "thought": True}]
        before = block if not _is_hidden(block) else before
    if signs and said.thoughts and not said.calls and not said.breaks:
        yield [{"text": "", "thoughtSignature": signature("text", by=issuer)}]


def _is_hidden(block: Block) -> bool:
    return not isinstance(block, Text | Call)


def _call(model: str, call: Call) -> dict[str, Any]:
    """Return a call; old models number nothing."""
    return {"name": call.name, "args": call.input, **({"id": call.id} if is_third(model) else {})}


def _joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parts of a whole answer: texts that follow one another are one."""
    joined: list[dict[str, Any]] = []
    for part in parts:
        last = joined[-1] if joined else {}
        if "text" in part and "text" in last and part.get("thought") == last.get("thought"):
            joined[-1] = {**last, **part, "text": last["text"] + part["text"]}
        else:
            joined.append(part)
    return joined
