"""Answers on OpenAI's wires, text and chat, whole and streamed, in our vocabulary.

The two differ in where a choice keeps its text, and vendors mix them up: one reader takes both.
Source: OpenAI's CreateCompletionResponse and CreateChatCompletionResponse; docs/vendors.md.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from app.gateways.base import plain_mapping
from app.gateways.decoding import failures
from app.gateways.decoding.choices.slots import UNNUMBERED
from app.gateways.decoding.choices.texts import mended
from app.gateways.decoding.counts import RunningUsage, later
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.parsing import failed, whole
from app.gateways.decoding.wire import Wire
from app.gateways.openai.logprobs import LogprobsOf
from app.gateways.openai.usage import decode_usage, usage_in
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Ending, Usage

#: What a choice has by the contract, on either wire, and what is read from it for another field.
CONTRACT = frozenset(
    {"delta", "finish_reason", "index", "logprobs", "message", "text", "token", "usage"}
)

#: What Together keeps beside the choice of a chunk.
BESIDE = frozenset({"finish_reason", "token"})


class OpenAIWire(Wire):
    """What OpenAI's objects mean; `text_key` is the native wire's."""

    text_key: ClassVar[bytes] = b'"text":'
    counts_choices: ClassVar[bool] = True

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._logprobs = LogprobsOf(request)
        self._refused: set[int] = set()
        self._deltas: set[int] = set()  # choices that come in pieces

    def read(self, payload: Any) -> Completion | None:
        """Return a chunk; an object without choices keeps a stream alive, and says nothing."""
        self.is_alive = False
        completion = self._object(payload, self._choice)
        return completion if completion.choices or completion.usage is not None else None

    def read_whole(self, payload: Any) -> Completion:
        """Return a whole completion object."""
        return self._object(payload, self._whole_choice)

    def _object(self, payload: Any, read: Callable[[Mapping[str, Any]], Choice]) -> Completion:
        error = failures.error_in(payload)
        if error is not None:
            raise failures.failure(self.vendor, None, failures.detail(error))
        choices = (payload.get("choices") or []) if isinstance(payload, dict) else None
        if not isinstance(choices, list) or not {dict}.issuperset(map(type, choices)):
            raise failed(self.vendor, "sent no completion object")
        get = payload.get
        name, model, fingerprint = get("id"), get("model"), get("system_fingerprint")
        tier = get("service_tier")
        return Completion(
            mended(name) if isinstance(name, str) else "",
            whole(get("created")) or int(time.time()),
            mended(model) if isinstance(model, str) and model else self.request.model_name,
            tuple([read(choice) for choice in _with_beside(payload, choices)]),
            self._usage(payload, choices),
            fingerprint if isinstance(fingerprint, str) else None,
            tier if isinstance(tier, str) else None,
        )

    def usage(self, payload: Any) -> Usage | None:
        """Return the usage in an object."""
        body = plain_mapping(payload)
        choices = body.get("choices")
        told = choices if isinstance(choices, list) else []
        return self._usage(body, [choice for choice in told if isinstance(choice, dict)])

    def _usage(self, payload: Mapping[str, Any], choices: list[Mapping[str, Any]]) -> Usage | None:
        usage = usage_in(self.vendor.name, payload)
        if (usage is not None and not usage.lacks) or not any("usage" in c for c in choices):
            return usage
        by_choice = self._by_choice(choices)
        return usage if by_choice is None else later(by_choice, usage or by_choice)

    def _by_choice(self, choices: list[Mapping[str, Any]]) -> Usage | None:
        """Return the usage that an object's choices hold, each with its prompt's."""
        told = [
            (at, usage)
            for at, choice in enumerate(choices)
            if choice.get("usage") and (usage := decode_usage(self.vendor.name, choice["usage"]))
        ]
        if len(told) < 2:
            return told[0][1] if told else None
        running = RunningUsage(len(choices), self.request.n or 1)
        return [running.put(usage, (at,), at_end=True) for at, usage in told][-1]

    def _whole_choice(self, choice: Mapping[str, Any]) -> Choice:
        """Return a choice that must say something: "" would pass for the vendor's answer."""
        if "text" in choice or choice.get("message") or choice.get("delta"):
            return self._choice(choice)
        return Choice(index_of(choice), "", "error")

    def _choice(self, choice: Mapping[str, Any]) -> Choice:
        """Return a choice; one that makes no sense is a failed one, and its siblings stand."""
        index = index_of(choice)
        text = self._text(index, choice)
        if text is None:
            return Choice(index, "", "error")
        reason, native = narrow(self.vendor, choice.get("finish_reason"))
        told = choice.get("logprobs")
        logprobs = None
        if told is not None or "token" in choice:
            logprobs = self._logprobs.read(index, choice, text)
        extra = None if CONTRACT.issuperset(choice) else _extra(choice)
        return Choice(index, text, self._ending(index, reason), logprobs, native, extra)

    def _ending(self, index: int, reason: Ending | None) -> Ending | None:
        return "content_filter" if reason == "stop" and index in self._refused else reason

    def _text(self, index: int, choice: Mapping[str, Any]) -> str | None:
        """Return a choice's text; None where it has something else in its place.

        What a model thinks, and its calls of tools, are no text, but show that it is at work.
        """
        text = choice.get("text")
        if isinstance(text, str):
            return text
        if text is not None:
            return None
        said = choice.get("delta")
        if said is not None:
            self._deltas.add(index)
        elif index not in self._deltas:  # beside pieces, a message is all of it once more
            said = choice.get("message")
        if said is None:
            return ""  # a verdict of a filter, or a finish reason alone
        if not isinstance(said, dict):
            return said if isinstance(said, str) else None
        if said.get("refusal"):
            self._refused.add(index)
        if not self.is_alive and any(said.get(name) for name in said if name != "role"):
            self.is_alive = True
        return text_of(said.get("content"))


class OpenAIChatWire(OpenAIWire):
    """The same, for chunks that usually have their text in `delta.content`."""

    text_key: ClassVar[bytes] = b'"content":'


def text_of(content: Any) -> str | None:
    """Return the text of a message's content: a text, its parts, or none at all; else None."""
    if isinstance(content, str | None):
        return content or ""
    if not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def index_of(choice: Mapping[str, Any]) -> int:
    """Return a choice's index, which some vendors leave out, or write as a float or a text."""
    index = choice.get("index")
    if type(index) is int:
        return index
    if type(index) is float and index.is_integer():
        return int(index)
    if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10:
        return int(index)
    return UNNUMBERED


def _extra(choice: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a choice carries beyond the contract."""
    beyond = {n: v for n, v in choice.items() if n not in CONTRACT and v is not None}
    return beyond or None


def _with_beside(body: Mapping[str, Any], choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the choices with what the object around them says, where they leave it open."""
    if BESIDE.isdisjoint(body):
        return choices
    beside = {name: body[name] for name in BESIDE if body.get(name) is not None}
    return [{**beside, **{k: v for k, v in c.items() if v is not None}} for c in choices]
