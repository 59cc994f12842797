"""OpenAI's text-completions wire, which most vendors and self-hosted servers speak.

What one of them does differently is a key of its entry in the vendor table, not a branch here.
Source: OpenAI's CreateCompletionRequest and CreateCompletionResponse; docs/vendors.md.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from marshmallow.fields import Field

from app import wire
from app.completion import Choice, Completion, CompletionRequest, Usage
from app.errors import GatewayError
from app.gateways import failures
from app.gateways.answers import failed, load, whole
from app.gateways.base import Vendor, VendorRequest, authorization, plain_mapping
from app.gateways.finish import narrow
from app.gateways.parameters import check_prompt, supported
from app.sse import EventParser, EventTooLarge, ServerSentEvent

DONE = b"[DONE]"


class OpenAIGateway:
    """Native text completions: the request is forwarded, the answer brought into form."""

    refuses: ClassVar[frozenset[str]] = frozenset()
    list_prompts: ClassVar[bool] = True
    max_n: ClassVar[int] = 128
    quirks: ClassVar[Mapping[str, Field[Any]]] = {}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, and nothing that it did not."""
        check_prompt(vendor, request)
        parameters, dropped = supported(vendor, request)
        body = {"model": request.model_name, "prompt": request.prompt, **parameters}
        body.update(request.extra)
        return posted(vendor, request, "/completions", body, dropped)

    def decode(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        """Return the whole answer, its choices in index order and each with a finish reason."""
        return complete(vendor, decode_object(vendor, request, load(vendor, body)))

    def stream_decoder(self, vendor: Vendor, request: CompletionRequest) -> "OpenAIStreamDecoder":
        """Return the decoder for one streamed answer."""
        return OpenAIStreamDecoder(vendor, request)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return failures.from_response(vendor, status, headers, body)


def posted(
    vendor: Vendor,
    request: CompletionRequest,
    path: str,
    body: Mapping[str, Any],
    dropped: tuple[str, ...] = (),
) -> VendorRequest:
    """Return the POST of a body to an OpenAI-like endpoint, which may answer with a stream."""
    body = dict(body)
    if request.stream:
        body["stream"] = True
        if vendor.asks_usage:  # others refuse the whole field
            body["stream_options"] = {**(request.stream_options or {}), "include_usage": True}
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream" if request.stream else "application/json",
        **authorization(vendor),
        **vendor.headers,
    }
    return VendorRequest(f"{vendor.base_url}{path}", headers, wire.dump(body), dropped)


def complete(vendor: Vendor, completion: Completion) -> Completion:
    """Return a whole answer with its choices in index order.

    Raises: VendorFailed when there are none, or one has no finish reason.
    """
    if not completion.choices or any(c.finish_reason is None for c in completion.choices):
        raise failed(vendor, "sent an answer that is not complete")
    return replace(completion, choices=_in_order(completion.choices))


def read_choice(vendor: Vendor, position: int, choice: Mapping[str, Any]) -> Choice:
    """Return a choice of a `text_completion` object; `position` stands in for a missing index.

    Raises: VendorFailed.
    """
    text, logprobs = choice.get("text"), choice.get("logprobs")
    chat = text is None and ("message" in choice or "delta" in choice)
    if chat or not isinstance(text, str | None):  # "" would pass for the vendor's answer
        raise failed(vendor, "sent a choice without text")
    return Choice(
        index=index_of(choice, position),
        text=text or "",
        finish_reason=narrow(vendor, choice.get("finish_reason")),
        logprobs=logprobs if isinstance(logprobs, dict) else None,
    )


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

    def __init__(
        self, vendor: Vendor, request: CompletionRequest, read: ReadChoice = read_choice
    ) -> None:
        self._vendor = vendor
        self._request = request
        self._read_choice = read
        self._parser = EventParser()
        self._open: set[int] = set()
        self._ended: set[int] = set()
        self._done = False

    def feed(self, packet: bytes) -> Iterable[Completion]:
        """Yield the chunks that `packet` completes."""
        try:
            for event in self._parser.feed(packet):
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
        payload = load(self._vendor, text)
        chunk = decode_object(self._vendor, self._request, payload, self._read_choice)
        for choice in chunk.choices:
            self._open.add(choice.index)
            if choice.finish_reason is not None:
                self._ended.add(choice.index)
        if chunk.choices or chunk.usage is not None:
            yield chunk

    def _reported(self, text: bytes) -> GatewayError:
        """Return the error of an event named so, whose words need not be JSON."""
        try:
            said = failures.detail(wire.load_vendor(text))
        except ValueError:
            said = failures.Detail(message=text.decode("utf-8", "replace"))
        return failures.failure(self._vendor, None, said)


def decode_object(
    vendor: Vendor, request: CompletionRequest, payload: Any, read: ReadChoice = read_choice
) -> Completion:
    """Return a completion object, whole or a chunk, in our vocabulary.

    An object without choices is an empty chunk, as vendors send some to keep a stream alive.
    Raises: GatewayError when it is an error in disguise, or no such object.
    """
    error = failures.error_in(payload)
    if error is not None:
        raise failures.failure(vendor, None, failures.detail(error))
    choices = (payload.get("choices") or []) if isinstance(payload, dict) else None
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise failed(vendor, "sent no completion object")
    body = plain_mapping(payload)
    created, model, fingerprint = (body.get(k) for k in ("created", "model", "system_fingerprint"))
    return Completion(
        id=body["id"] if isinstance(body.get("id"), str) else "",
        created=whole(created) or int(time.time()),
        model=model if isinstance(model, str) and model else request.model_name,
        choices=tuple(read(vendor, at, choice) for at, choice in enumerate(choices)),
        usage=decode_usage(body.get("usage") or plain_mapping(body.get("x_groq")).get("usage")),
        system_fingerprint=fingerprint if isinstance(fingerprint, str) else None,
    )


def _in_order(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """Return choices by index, or by position where a vendor numbers two of them alike."""
    if len({choice.index for choice in choices}) < len(choices):
        return tuple(replace(choice, index=at) for at, choice in enumerate(choices))
    return tuple(sorted(choices, key=lambda choice: choice.index))


#: Usage field -> where OpenAI's wire keeps it.
USAGE_PATHS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("prompt_tokens",),
    "completion_tokens": ("completion_tokens",),
    "total_tokens": ("total_tokens",),
    "cached_tokens": ("prompt_tokens_details", "cached_tokens"),
    "cache_write_tokens": ("prompt_tokens_details", "cache_write_tokens"),
    "audio_prompt_tokens": ("prompt_tokens_details", "audio_tokens"),
    "reasoning_tokens": ("completion_tokens_details", "reasoning_tokens"),
    "audio_completion_tokens": ("completion_tokens_details", "audio_tokens"),
    "accepted_prediction_tokens": ("completion_tokens_details", "accepted_prediction_tokens"),
    "rejected_prediction_tokens": ("completion_tokens_details", "rejected_prediction_tokens"),
}


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's count, or None when there is none: absent, null, nonsense, or all zeros.

    A total that the vendor gives is kept, also where it is not the sum.
    """
    if not isinstance(usage, dict):
        return None
    found = {name: _at(usage, path) for name, path in USAGE_PATHS.items()}
    if any(whole(found[name] or 0) is None for name in MAIN_COUNTS):
        return None  # an estimate, marked as one, is better than half a count
    counts = {name: whole(count) or 0 for name, count in found.items()}
    counts = _reasoning_inside(counts)
    if not counts["total_tokens"]:
        counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    return Usage(**counts) or None


def _reasoning_inside(counts: dict[str, int]) -> dict[str, int]:
    """Add the reasoning to the completion where a vendor's total says that it was left out."""
    beyond = counts["total_tokens"] - counts["prompt_tokens"] - counts["completion_tokens"]
    if beyond != counts["reasoning_tokens"]:
        return counts
    return {**counts, "completion_tokens": counts["completion_tokens"] + beyond}


MAIN_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def _at(usage: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = usage
    for key in path:
        value = plain_mapping(value).get(key)
    return value
