"""Answers on OpenAI's text-completions wire, whole and streamed, in our vocabulary.

The chat wire's answers differ in how a choice is read, and in nothing else.
Source: OpenAI's CreateCompletionResponse; docs/vendors.md.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from app import wire
from app.completion import Choice, Completion, CompletionRequest
from app.errors import GatewayError
from app.gateways import failures
from app.gateways.answers import failed, load, number, whole
from app.gateways.base import Vendor, plain_mapping
from app.gateways.finish import narrow
from app.gateways.logprobs import LogprobsReader, TokenLogprob, chat_tokens
from app.gateways.openai_usage import UsageByChoice, decode_usage
from app.gateways.usual_chunk import UsualChunk
from app.sse import EventParser, EventTooLarge, ServerSentEvent

DONE = b"[DONE]"


def complete(vendor: Vendor, completion: Completion) -> Completion:
    """Return a whole answer with its choices in index order.

    Raises: VendorFailed when there are none, or one has no finish reason.
    """
    if not completion.choices or any(c.finish_reason is None for c in completion.choices):
        raise failed(vendor, "sent an answer that is not complete")
    return replace(completion, choices=_in_order(completion.choices))


class TextReader:
    """Reads the choices of one answer, keeping each one's length for its tokens' offsets."""

    def __init__(self, request: CompletionRequest) -> None:
        self._wants_logprobs = request.logprobs is not None
        self._logprobs = LogprobsReader()

    def read(self, vendor: Vendor, position: int, choice: Mapping[str, Any]) -> Choice:
        """Return a choice in our vocabulary; `position` stands in for a missing index.

        Raises: VendorFailed.
        """
        text, index = choice.get("text"), index_of(choice, position)
        chat = text is None and ("message" in choice or "delta" in choice)
        if chat or not isinstance(text, str | None):  # "" would pass for the vendor's answer
            raise failed(vendor, "sent a choice without text")
        finish = narrow(vendor, choice.get("finish_reason"))
        return Choice(index, text or "", finish, self._told(index, choice))

    def _told(self, index: int, choice: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return a choice's log probabilities, which not all vendors have in the contract's form.

        Forms: the contract's; without offsets; chat's list of objects; a token beside the choice.
        """
        said = choice.get("logprobs")
        if said is None and not self._wants_logprobs:
            return None
        told = plain_mapping(said)
        names, logprobs = told.get("tokens"), told.get("token_logprobs")
        if isinstance(names, list) and isinstance(logprobs, list):
            if isinstance(told.get("text_offset"), list):
                return told
            return self._logprobs.read(index, _zipped(names, logprobs, told.get("top_logprobs")))
        if isinstance(told.get("content"), list):
            return self._logprobs.read(index, chat_tokens(told["content"]))
        token = plain_mapping(choice.get("token"))
        if self._wants_logprobs and isinstance(token.get("text"), str):
            return self._logprobs.read(index, _zipped([token["text"]], [token.get("logprob")]))
        return None


def _zipped(names: list[Any], logprobs: list[Any], top: Any = None) -> Iterable[TokenLogprob]:
    """Yield the tokens of parallel lists; one object for all of them tells no token's own."""
    tops = top if isinstance(top, list) else [top] if len(names) == 1 else []
    for at, name in enumerate(names):
        others = plain_mapping(tops[at]) if at < len(tops) else {}
        logprob = number(logprobs[at]) if at < len(logprobs) else None
        if isinstance(name, str):
            yield TokenLogprob(name, logprob, {key: number(value) for key, value in others.items()})


def index_of(choice: Mapping[str, Any], position: int) -> int:
    """Return a choice's index, which some vendors leave out."""
    index = choice.get("index")
    return index if type(index) is int and index >= 0 else position


#: How a wire's choices are read.
ReadChoice = Callable[[Vendor, int, Mapping[str, Any]], Choice]


class OpenAIStreamDecoder:
    """One streamed answer: whole when every choice has ended, not when `[DONE]` says so.

    Reading goes on after a finish reason, since usage often follows it.
    """

    #: The name of the field that holds a chunk's text.
    text_key: ClassVar[bytes] = b'"text":'

    def __init__(self, vendor: Vendor, request: CompletionRequest, read: ReadChoice) -> None:
        self._vendor = vendor
        self._request = request
        self._read_choice = read
        by_choice = vendor.quirks.get("usage_by_choice", False)
        self._usage = UsageByChoice(request.n or 1) if by_choice else None
        self._parser = EventParser()
        self._usual = UsualChunk(self.text_key)
        self._open: set[int] = set()
        self._ended: set[int] = set()
        self._done = False

    def feed(self, packet: bytes) -> Iterable[Completion]:
        """Yield the chunks that `packet` completes."""
        try:
            for event in self._parser.feed(packet):
                usual = None if event.name or self._done else self._usual.read(event.data)
                if usual is not None:
                    yield usual
                else:
                    yield from self._decode(event)
        except EventTooLarge as exc:
            raise failed(self._vendor, "sent an event that is too large") from exc

    def close(self) -> Iterable[Completion]:
        """Yield what the end of the connection completes, if the answer is whole."""
        for event in self._parser.flush():
            yield from self._decode(event)
        short = not self._done and len(self._ended) < self._request.choice_count
        if short or not self._ended or self._open - self._ended:
            raise failed(self._vendor, "broke off before the answer was complete")

    def _decode(self, event: ServerSentEvent) -> Iterable[Completion]:
        text = event.data.strip()
        if not text or self._done:
            return
        if text == DONE:
            self._done = True
            return
        if event.name == "error":
            raise self._reported(text)
        chunk = self._chunk(load(self._vendor, text))
        for choice in chunk.choices:
            self._open.add(choice.index)
            if choice.finish_reason is not None:
                self._ended.add(choice.index)
        if chunk.choices or chunk.usage is not None:
            self._usual.learn(text, chunk)
            yield self._usage.summed(chunk) if self._usage else chunk

    def _chunk(self, payload: Any) -> Completion:
        return decode_object(self._vendor, self._request, payload, self._read_choice)

    def _reported(self, text: bytes) -> GatewayError:
        """Return the error of an event named so, whose words need not be JSON."""
        try:
            said = failures.detail(wire.load_vendor(text))
        except ValueError:
            said = failures.Detail(message=text.decode("utf-8", "replace"))
        return failures.failure(self._vendor, None, said)


def decode_object(
    vendor: Vendor, request: CompletionRequest, payload: Any, read: ReadChoice
) -> Completion:
    """Return a completion object, whole or a chunk, in our vocabulary.

    An object without choices is an empty chunk, as vendors send some to keep a stream alive.
    Raises: GatewayError when it is an error in disguise, or no such object.
    """
    error = failures.error_in(payload)
    if error is not None:
        raise failures.failure(vendor, None, failures.detail(error))
    choices = (payload.get("choices") or []) if isinstance(payload, dict) else None
    if not isinstance(choices, list) or not {dict}.issuperset(map(type, choices)):
        raise failed(vendor, "sent no completion object")
    get = payload.get
    name, model, fingerprint = get("id"), get("model"), get("system_fingerprint")
    usage = get("usage") or plain_mapping(get("x_groq")).get("usage")
    told = enumerate(_with_beside(payload, choices))
    return Completion(
        id=name if isinstance(name, str) else "",
        created=whole(get("created")) or int(time.time()),
        model=model if isinstance(model, str) and model else request.model_name,
        choices=tuple([read(vendor, at, choice) for at, choice in told]),
        usage=decode_usage(usage) if usage else None,
        system_fingerprint=fingerprint if isinstance(fingerprint, str) else None,
    )


#: What Together keeps beside the choice of a chunk.
BESIDE = frozenset({"finish_reason", "token"})


def _with_beside(body: Mapping[str, Any], choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the choices with what the object around them says, where they leave it open."""
    if BESIDE.isdisjoint(body):
        return choices
    beside = {name: body[name] for name in BESIDE if body.get(name) is not None}
    return [{**beside, **{k: v for k, v in c.items() if v is not None}} for c in choices]


def _in_order(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """Return choices by index, or by position where a vendor numbers two of them alike."""
    if len({choice.index for choice in choices}) < len(choices):
        return tuple(replace(choice, index=at) for at, choice in enumerate(choices))
    return tuple(sorted(choices, key=lambda choice: choice.index))
