"""Decodes OpenAI's completion and chat objects, whole and streamed.

The two differ in the field of a choice's text, and vendors mix them up: one decoder accepts both.
Source: OpenAI's CreateCompletionResponse and CreateChatCompletionResponse; docs/vendors.md.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from app.gateways.decoding import failures
from app.gateways.decoding.choices.slots import UNNUMBERED
from app.gateways.decoding.choices.texts import sanitized
from app.gateways.decoding.chunk_template import ChunkTemplate
from app.gateways.decoding.counts import RunningUsage, later
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.error_bodies import error_in
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.parsing import failed, plain_mapping, whole
from app.gateways.openai import errors
from app.gateways.openai.logprobs import LogprobsOf
from app.gateways.openai.usage import decode_usage, usage_in
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Ending, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.request import GenerationRequest

#: Fields of a choice by the contract, in either format, and fields that are read for others.
CONTRACT = frozenset(
    {"delta", "finish_reason", "index", "logprobs", "message", "text", "token", "usage"}
)

#: Fields that Together puts beside the choice of a chunk.
BESIDE = frozenset({"finish_reason", "token"})


#: OpenAI pads chunks, so that their size does not reveal the length of their text.
PADDING_KEY = b'"obfuscation":'


class ObjectDecoder(Decoder):
    """Decodes the objects that hold choices; what is in a choice is left to `_choice`.

    `text_key` is the field that usually holds a stream's text, as in JSON.
    """

    text_key: ClassVar[bytes]
    counts_choices = True

    def __init__(self, vendor: Vendor, request: GenerationRequest) -> None:
        super().__init__(vendor, request)
        self._deltas: set[int] = set()  # choices that come as deltas

    def template(self) -> ChunkTemplate | None:
        return ChunkTemplate(self.text_key, PADDING_KEY)

    def read(self, payload: Any) -> Completion | None:
        """Decode a chunk; None for a keep-alive object without choices or usage."""
        self.is_alive = False
        completion = self._object(payload, self._choice)
        return completion if completion.choices or completion.usage is not None else None

    def failure(self, detail: failures.Detail) -> GatewayError:
        return errors.failure(self.vendor, None, detail)

    def read_whole(self, payload: Any) -> Completion:
        return self._object(payload, self._whole_choice)

    def _object(self, payload: Any, read: Callable[[Mapping[str, Any]], Choice]) -> Completion:
        error = error_in(payload)
        if error is not None:
            raise self.failure(failures.detail_of(error))
        choices = (payload.get("choices") or []) if isinstance(payload, dict) else None
        if not isinstance(choices, list) or not {dict}.issuperset(map(type, choices)):
            raise failed(self.vendor, "sent a malformed completion object")
        get = payload.get
        name, model, fingerprint = get("id"), get("model"), get("system_fingerprint")
        tier = get("service_tier")
        if tier is None and isinstance(counts := get("usage"), dict):  # as Mistral has it
            tier = counts.get("service_tier")
        return Completion(
            sanitized(name) if isinstance(name, str) else "",
            whole(get("created")) or int(time.time()),
            sanitized(model) if isinstance(model, str) and model else self.request.model_name,
            tuple([read(choice) for choice in _with_beside(payload, choices)]),
            self._usage(payload, choices),
            fingerprint if isinstance(fingerprint, str) else None,
            tier if isinstance(tier, str) and tier else None,
            self._beside(payload),
        )

    def _beside(self, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:  # noqa: ARG002 - an override does
        """Return the object's fields that only the vendor knows; texts have none."""
        return None

    def usage(self, payload: Any) -> Usage | None:
        body = plain_mapping(payload)
        choices = body.get("choices")
        listed = choices if isinstance(choices, list) else []
        return self._usage(body, [choice for choice in listed if isinstance(choice, dict)])

    def _usage(self, payload: Mapping[str, Any], choices: list[Mapping[str, Any]]) -> Usage | None:
        usage = usage_in(self.vendor.name, payload)
        if (usage is not None and not usage.lacks) or not any("usage" in c for c in choices):
            return usage
        by_choice = self._by_choice(choices)
        return usage if by_choice is None else later(by_choice, usage or by_choice)

    def _by_choice(self, choices: list[Mapping[str, Any]]) -> Usage | None:
        """Sum the usage that an object's choices hold, each including its prompt's."""
        found = [
            (at, usage)
            for at, choice in enumerate(choices)
            if choice.get("usage") and (usage := decode_usage(self.vendor.name, choice["usage"]))
        ]
        if len(found) < 2:
            return found[0][1] if found else None
        running = RunningUsage(len(choices), self.request.n or 1)
        return [running.put(usage, (at,), at_end=True) for at, usage in found][-1]

    def _whole_choice(self, choice: Mapping[str, Any]) -> Choice:
        """Decode a choice of a whole response; one without a text field has failed.

        Azure leaves out the message that its filter has taken away. Perplexity puts an empty delta
        beside the message.
        """
        if choice.get("message") and "delta" in choice:
            choice = {name: value for name, value in choice.items() if name != "delta"}
        if "text" in choice or choice.get("message") or choice.get("delta"):
            return self._choice(choice)
        if choice.get("finish_reason") == "content_filter":
            return self._choice(choice)
        return Choice(index_of(choice), "", "error")

    @abstractmethod
    def _choice(self, choice: Mapping[str, Any]) -> Choice:
        """Decode a choice; a malformed one has failed, without its siblings."""

    def _message(self, index: int, choice: Mapping[str, Any]) -> Any:
        """Return a choice's message or its delta; None if it has neither."""
        message = choice.get("delta")
        if message is not None:
            self._deltas.add(index)
        elif index not in self._deltas:  # after deltas, a message repeats all of them
            message = choice.get("message")
        return message

    def _note_life(self, message: Mapping[str, Any]) -> None:
        """Note whether a message shows that the model is at work, even without text."""
        if not self.is_alive and any(message.get(name) for name in message if name != "role"):
            self.is_alive = True


class OpenAIDecoder(ObjectDecoder):
    """Decodes completions, or chats as completions; streams usually have a text in `text`."""

    text_key: ClassVar[bytes] = b'"text":'

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._logprobs = LogprobsOf(request)
        self._refused: set[int] = set()

    def _choice(self, choice: Mapping[str, Any]) -> Choice:
        index = index_of(choice)
        text = self._text(index, choice)
        if text is None:
            return Choice(index, "", "error")
        reason, native = narrow(self.vendor, choice.get("finish_reason"))
        logprobs = None
        if choice.get("logprobs") is not None or "token" in choice:
            logprobs = self._logprobs.read(index, choice, text)
        extra = None if CONTRACT.issuperset(choice) else beyond(choice, CONTRACT)
        return Choice(index, text, self._ending(index, reason), logprobs, native, extra)

    def _ending(self, index: int, reason: Ending | None) -> Ending | None:
        return "content_filter" if reason == "stop" and index in self._refused else reason

    def _text(self, index: int, choice: Mapping[str, Any]) -> str | None:
        """Return a choice's text; None if it is malformed.

        Reasoning and tool calls are not text, but show that the model is at work.
        """
        text = choice.get("text")
        if isinstance(text, str):
            return text
        if text is not None:
            return None
        message = self._message(index, choice)
        if message is None:
            return ""  # only a filter's verdict or a finish reason
        if not isinstance(message, dict):
            return message if isinstance(message, str) else None
        if message.get("refusal"):
            self._refused.add(index)
        self._note_life(message)
        return text_of(message.get("content"))


def text_of(content: Any) -> str | None:
    """Return the text of a message's content: a text, parts or null; None if malformed."""
    if isinstance(content, str | None):
        return content or ""
    if not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def index_of(choice: Mapping[str, Any]) -> int:
    """Return a choice's index; UNNUMBERED without one. Some vendors send a float or a text."""
    index = choice.get("index")
    if type(index) is int:
        return index
    if type(index) is float and index.is_integer():
        return int(index)
    if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10:
        return int(index)
    return UNNUMBERED


def beyond(body: Mapping[str, Any], named: frozenset[str]) -> Mapping[str, Any] | None:
    """Return the fields that are not among these names, without nulls; None if there are none."""
    return {n: v for n, v in body.items() if n not in named and v is not None} or None


def _with_beside(body: Mapping[str, Any], choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the choices with the fields beside them in the object, unless they have their own."""
    if BESIDE.isdisjoint(body):
        return choices
    beside = {name: body[name] for name in BESIDE if body.get(name) is not None}
    return [{**beside, **{k: v for k, v in c.items() if v is not None}} for c in choices]
